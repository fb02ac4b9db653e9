// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/comparison.h"

#include <math.h>
#include <string.h>

#include "libutil/escape.h"
#include "libutil/json.h"

/* Return the squared standard error of the mean, relative to the mean. */
static double relative_variance(const struct vmop_spread *spread)
{
	double n = (double)spread->n;
	return spread->squares / (n - 1) / n / (spread->mean * spread->mean);
}

struct vmop_deviation vmop_deviation_of(const struct vmop_spread *host,
					const struct vmop_spread *guest)
{
	struct vmop_deviation deviation = {.width_percent = -1};
	if (host->mean == 0 || guest->mean == 0) {
		deviation.reason = "a count is 0";
		return deviation;
	}
	double quotient = guest->mean / host->mean;
	deviation.percent = 100 * (quotient - 1);
	if (host->n < 2 || guest->n < 2)
		return deviation;
	double a = relative_variance(host), b = relative_variance(guest), sum = a + b;
	deviation.width_percent = 0;
	if (sum <= 0)
		return deviation;
	double freedom =
		sum * sum / (a * a / (double)(host->n - 1) + b * b / (double)(guest->n - 1));
	deviation.width_percent =
		100 * quotient * sqrt(sum) * vmop_student_99((size_t)round(freedom));
	return deviation;
}

static bool is_same_event(const struct vmop_stat_row *a, const struct vmop_stat_row *b)
{
	return a->is_time == b->is_time && strcmp(a->name, b->name) == 0;
}

/* Return which of the rows with its name this one is, from 0. */
static size_t rank_of(const struct vmop_stat_row *rows, size_t i)
{
	size_t rank = 0;
	for (size_t j = 0; j < i; j++)
		rank += is_same_event(&rows[j], &rows[i]);
	return rank;
}

/* Return the row of that event and rank, or NULL. */
static const struct vmop_stat_row *find(const struct vmop_stat_row *rows, size_t n,
					const struct vmop_stat_row *like, size_t rank)
{
	for (size_t i = 0; i < n; i++) {
		if (is_same_event(&rows[i], like) && rank-- == 0)
			return &rows[i];
	}
	return NULL;
}

static struct vmop_stat_pair pair_of(const struct vmop_stat_row *host,
				     const struct vmop_stat_row *guest)
{
	struct vmop_stat_pair pair = {.host = host, .guest = guest};
	bool has_both = host && guest && !host->reason && !guest->reason;
	if (has_both)
		pair.deviation = vmop_deviation_of(&host->values, &guest->values);
	else
		pair.deviation.reason = "one side has no count";
	return pair;
}

size_t vmop_stat_pairs_join(const struct vmop_stat_row *host, size_t n_host,
			    const struct vmop_stat_row *guest, size_t n_guest,
			    struct vmop_stat_pair *ret)
{
	size_t n = 0;
	for (size_t i = 0; i < n_host; i++)
		ret[n++] = pair_of(&host[i], find(guest, n_guest, &host[i], rank_of(host, i)));
	for (size_t i = 0; i < n_guest; i++) {
		if (!find(host, n_host, &guest[i], rank_of(guest, i)))
			ret[n++] = pair_of(NULL, &guest[i]);
	}
	return n;
}

/* Return a side's value as it is printed: times in ms. */
static double shown(const struct vmop_stat_row *row)
{
	return row->is_time ? row->values.mean / 1e6 : row->values.mean;
}

static const struct vmop_stat_row *either(const struct vmop_stat_pair *pair)
{
	return pair->host ? pair->host : pair->guest;
}

/* Return why a side has no count, or NULL: it has one. */
static const char *reason_of(const struct vmop_stat_row *row)
{
	return row ? row->reason : "it counted no such event";
}

static void print_escaped(const char *text, FILE *out)
{
	vmop_escape_print(text, strlen(text), vmop_escape_locale(), out);
}

static void write_table_side(const struct vmop_stat_row *row, FILE *out)
{
	if (reason_of(row)) {
		fprintf(out, "%18s %10s", "n/a", "");
		return;
	}
	fprintf(out, row->is_time ? "%18.2f" : "%18.0f", shown(row));
	if (row->values.n > 1)
		fprintf(out, " +-%7.2f%%", vmop_spread_percent(&row->values));
	else
		fprintf(out, " %10s", "");
}

static void write_table_reason(const char *side, const struct vmop_stat_row *row, FILE *out)
{
	const char *reason = reason_of(row);
	if (!reason)
		return;
	fprintf(out, " # %s: ", side);
	print_escaped(reason, out);
}

static void write_table_pair(const struct vmop_stat_writer *writer,
			     const struct vmop_stat_pair *pair)
{
	FILE *out = writer->out;
	const struct vmop_deviation *deviation = &pair->deviation;
	write_table_side(pair->host, out);
	write_table_side(pair->guest, out);
	if (deviation->reason)
		fprintf(out, "%10s %10s", "n/a", "");
	else if (deviation->width_percent >= 0)
		fprintf(out, "%+9.2f%% +-%7.2f%%", deviation->percent, deviation->width_percent);
	else
		fprintf(out, "%+9.2f%% %10s", deviation->percent, "");
	fprintf(out, " %-4s ", either(pair)->is_time ? "msec" : "");
	print_escaped(either(pair)->name, out);
	write_table_reason("host", pair->host, out);
	write_table_reason("guest", pair->guest, out);
	fputc('\n', out);
}

static void write_fields_side(const struct vmop_stat_row *row, const char *x, FILE *out)
{
	if (reason_of(row)) {
		fprintf(out, "<not counted>%s%s", x, x);
		return;
	}
	fprintf(out, row->is_time ? "%.6f%s" : "%.0f%s", shown(row), x);
	if (row->values.n > 1)
		fprintf(out, "%.2f%%", vmop_spread_percent(&row->values));
	fputs(x, out);
}

/* Host, its interval, guest, its interval, deviation, its interval, unit, event. */
static void write_fields_pair(const struct vmop_stat_writer *writer,
			      const struct vmop_stat_pair *pair)
{
	FILE *out = writer->out;
	const char *x = writer->separator;
	const struct vmop_deviation *deviation = &pair->deviation;
	write_fields_side(pair->host, x, out);
	write_fields_side(pair->guest, x, out);
	if (!deviation->reason)
		fprintf(out, "%.4f%%", deviation->percent);
	fputs(x, out);
	if (!deviation->reason && deviation->width_percent >= 0)
		fprintf(out, "%.4f%%", deviation->width_percent);
	fprintf(out, "%s%s%s", x, either(pair)->is_time ? "msec" : "", x);
	print_escaped(either(pair)->name, out);
	fputc('\n', out);
}

static json_t *side_of(const struct vmop_stat_row *row)
{
	json_t *side = json_object();
	const char *reason = reason_of(row);
	if (reason) {
		json_object_set_new(side, "counter-value", json_null());
		json_object_set_new(side, "reason", vmop_json_text(reason));
		return side;
	}
	json_object_set_new(side, "counter-value", json_real(shown(row)));
	json_object_set_new(side, "is-estimate", json_boolean(row->is_estimate));
	json_object_set_new(side, "runs", json_integer((json_int_t)row->values.n));
	if (row->values.n > 1)
		json_object_set_new(side, "interval-99-percent",
				    json_real(vmop_spread_percent(&row->values)));
	return side;
}

static void write_json_pair(const struct vmop_stat_writer *writer,
			    const struct vmop_stat_pair *pair)
{
	const struct vmop_deviation *deviation = &pair->deviation;
	json_t *object = json_object();
	json_object_set_new(object, "event", vmop_json_text(either(pair)->name));
	json_object_set_new(object, "unit", json_string(either(pair)->is_time ? "msec" : ""));
	json_object_set_new(object, "host", side_of(pair->host));
	json_object_set_new(object, "guest", side_of(pair->guest));
	json_object_set_new(object, "deviation-percent",
			    deviation->reason ? json_null() : json_real(deviation->percent));
	if (deviation->reason)
		json_object_set_new(object, "reason", vmop_json_text(deviation->reason));
	else if (deviation->width_percent >= 0)
		json_object_set_new(object, "deviation-interval-99-percent",
				    json_real(deviation->width_percent));
	vmop_error_destroy(vmop_json_print(object, JSON_COMPACT, writer->out));
	json_decref(object);
}

struct vmop_error *vmop_stat_pairs_write(const struct vmop_stat_writer *writer, const char *title,
					 const struct vmop_stat_pair *pairs, size_t n)
{
	static void (*const writers[])(const struct vmop_stat_writer *,
				       const struct vmop_stat_pair *) = {
		[VMOP_STAT_TABLE] = write_table_pair,
		[VMOP_STAT_FIELDS] = write_fields_pair,
		[VMOP_STAT_JSON] = write_json_pair,
	};
	bool is_table = writer->format == VMOP_STAT_TABLE;
	if (is_table) {
		fputs("\n Performance counter stats for ", writer->out);
		print_escaped(title, writer->out);
		fprintf(writer->out, ":\n\n%18s %10s%18s %10s%10s\n", "host", "", "guest", "",
			"deviation");
	}
	for (size_t i = 0; i < n; i++)
		writers[writer->format](writer, &pairs[i]);
	if (is_table)
		fputc('\n', writer->out);
	return fflush(writer->out) == 0 ? NULL : vmop_error_new(VMOP_ERROR_CANT, "writing failed");
}
