// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/output.h"

#include <math.h>
#include <string.h>

#include "libutil/escape.h"
#include "libutil/json.h"

/* "task-clock" is printed in ms, as perf stat does. */
static double shown(const struct vmop_stat_row *row)
{
	return row->is_time ? row->values.mean / 1e6 : row->values.mean;
}

static double percent_running(const struct vmop_stat_row *row)
{
	return row->enabled_ns > 0 ? 100 * row->running_ns / row->enabled_ns : 0;
}

/* Scale a rate for people: 1234.5 /sec is 1.234 K/sec. */
static const char *scale(double *value, const char *unit, char ret[16])
{
	const char *prefix = "";
	if (strcmp(unit, "/sec") != 0)
		return unit;
	if (*value >= 1e9) {
		*value /= 1e9;
		prefix = "G";
	} else if (*value >= 1e6) {
		*value /= 1e6;
		prefix = "M";
	} else if (*value >= 1e3) {
		*value /= 1e3;
		prefix = "K";
	}
	snprintf(ret, 16, "%s/sec", prefix);
	return ret;
}

void vmop_stat_write_heading(const struct vmop_stat_writer *writer)
{
	if (writer->format == VMOP_STAT_TABLE && writer->has_intervals)
		fprintf(writer->out, "#%11s %18s %-4s %s\n", "time", "counts", "unit", "events");
}

static void write_name(const struct vmop_stat_writer *writer, const char *name, int width)
{
	vmop_escape_print(name, strlen(name), vmop_escape_locale(), writer->out);
	fprintf(writer->out, "%*s", (int)strlen(name) < width ? width - (int)strlen(name) : 0, "");
}

static void write_guest(const struct vmop_stat_writer *writer, const struct vmop_stat_row *row)
{
	if (!row->guest)
		return;
	fputs("  [guest ", writer->out);
	write_name(writer, row->guest, 0);
	fputc(']', writer->out);
}

static void write_table_row(const struct vmop_stat_writer *writer, const struct vmop_stat_row *row,
			    double time_s)
{
	FILE *out = writer->out;
	char rate[16];
	if (writer->has_intervals)
		fprintf(out, "%12.6f ", time_s);
	if (row->reason) {
		fprintf(out, "%18s %-4s ", "n/a", "");
		write_name(writer, row->name, 24);
		fputs(" # ", out);
		write_name(writer, row->reason, 0);
		write_guest(writer, row);
		fputc('\n', out);
		return;
	}
	fprintf(out, row->is_time ? "%18.2f %-4s " : "%18.0f %-4s ", shown(row),
		row->is_time ? "msec" : "");
	write_name(writer, row->name, 24);
	if (row->ratio_unit) {
		double ratio = row->ratios.mean;
		const char *unit = scale(&ratio, row->ratio_unit, rate);
		fprintf(out, " # %8.3f %s", ratio, unit);
		if (row->ratios.n > 1)
			fprintf(out, " +- %.2f%%", vmop_spread_percent(&row->ratios));
	}
	if (row->values.n > 1)
		fprintf(out, "  ( +- %5.2f%% )", vmop_spread_percent(&row->values));
	if (row->is_estimate && row->running_ns < row->enabled_ns)
		fprintf(out, "  (%.2f%%)", percent_running(row));
	if (row->note) {
		fputs(row->is_estimate ? " # estimate: " : " # ", out);
		write_name(writer, row->note, 0);
	}
	write_guest(writer, row);
	fputc('\n', out);
}

/* The order of perf stat -x: value, unit, event, [spread,] run time, percent, ratio, its unit. */
static void write_fields(const struct vmop_stat_writer *writer, const struct vmop_stat_row *row,
			 double time_s)
{
	FILE *out = writer->out;
	const char *x = writer->separator;
	if (writer->has_intervals)
		fprintf(out, "%.9f%s", time_s, x);
	if (row->reason)
		fprintf(out, "<not counted>%s%s", x, x);
	else
		fprintf(out, row->is_time ? "%.6f%s%s%s" : "%.0f%s%s%s", shown(row), x,
			row->is_time ? "msec" : "", x);
	write_name(writer, row->name, 0);
	if (row->values.n > 1)
		fprintf(out, "%s%.2f%%", x, vmop_spread_percent(&row->values));
	fprintf(out, "%s%.0f%s%.2f%s", x, row->reason ? 0 : row->running_ns, x,
		row->reason ? 0 : percent_running(row), x);
	if (row->ratio_unit && !row->reason)
		fprintf(out, "%.6f%s%s", row->ratios.mean, x, row->ratio_unit);
	else
		fprintf(out, "%s%s", x, row->note && row->is_estimate ? "estimate" : "");
	if (writer->has_guests) {
		fputs(x, out);
		write_name(writer, row->guest ? row->guest : "", 0);
	}
	fputc('\n', out);
}

static void set(json_t *object, const char *key, json_t *value)
{
	json_object_set_new(object, key, value);
}

static void write_json(const struct vmop_stat_writer *writer, const struct vmop_stat_row *row,
		       double time_s)
{
	json_t *object = json_object();
	if (writer->has_intervals)
		set(object, "interval", json_real(time_s));
	set(object, "event", vmop_json_text(row->name));
	if (row->guest)
		set(object, "guest", vmop_json_text(row->guest));
	set(object, "unit", json_string(row->is_time ? "msec" : ""));
	if (row->reason) {
		set(object, "counter-value", json_null());
		set(object, "reason", vmop_json_text(row->reason));
	} else {
		bool is_whole = !row->is_time && row->values.n == 1;
		set(object, "counter-value",
		    is_whole ? json_integer(llround(shown(row))) : json_real(shown(row)));
		set(object, "is-estimate", json_boolean(row->is_estimate));
		if (row->note)
			set(object, "note", vmop_json_text(row->note));
		set(object, "event-runtime", json_integer((json_int_t)row->running_ns));
		set(object, "pcnt-running", json_real(percent_running(row)));
	}
	if (row->values.n > 1) {
		set(object, "runs", json_integer((json_int_t)row->values.n));
		set(object, "interval-99-percent", json_real(vmop_spread_percent(&row->values)));
	}
	if (row->ratio_unit && !row->reason) {
		set(object, "metric-value", json_real(row->ratios.mean));
		set(object, "metric-unit", json_string(row->ratio_unit));
		if (row->ratios.n > 1)
			set(object, "metric-interval-99-percent",
			    json_real(vmop_spread_percent(&row->ratios)));
	}
	vmop_error_destroy(vmop_json_print(object, JSON_COMPACT, writer->out));
	json_decref(object);
}

void vmop_stat_write_row(const struct vmop_stat_writer *writer, const struct vmop_stat_row *row,
			 double time_s)
{
	static void (*const writers[])(const struct vmop_stat_writer *,
				       const struct vmop_stat_row *, double) = {
		[VMOP_STAT_TABLE] = write_table_row,
		[VMOP_STAT_FIELDS] = write_fields,
		[VMOP_STAT_JSON] = write_json,
	};
	writers[writer->format](writer, row, time_s);
}

void vmop_stat_write_title(const struct vmop_stat_writer *writer, const char *what, size_t n_runs)
{
	if (writer->format != VMOP_STAT_TABLE || writer->has_intervals)
		return;
	fputs("\n Performance counter stats for ", writer->out);
	vmop_escape_print(what, strlen(what), vmop_escape_locale(), writer->out);
	if (n_runs > 1)
		fprintf(writer->out, " (%zu runs, means with 99 %% intervals)", n_runs);
	fputs(":\n\n", writer->out);
}

/* Print a mean of the runs, in seconds. */
static void write_seconds(FILE *out, const struct vmop_spread *spread, const char *name)
{
	fprintf(out, "%18.9f seconds %s", spread->mean, name);
	if (spread->n > 1)
		fprintf(out, "  ( +- %5.2f%% )", vmop_spread_percent(spread));
	fputc('\n', out);
}

void vmop_stat_write_times(const struct vmop_stat_writer *writer,
			   const struct vmop_stat_times *times)
{
	FILE *out = writer->out;
	if (writer->format != VMOP_STAT_TABLE || writer->has_intervals)
		return;
	fputc('\n', out);
	write_seconds(out, &times->elapsed_s, "time elapsed");
	fputc('\n', out);
	if (!times->user_s.n)
		return;
	write_seconds(out, &times->user_s, "user");
	write_seconds(out, &times->system_s, "sys");
	fputc('\n', out);
}
