// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/guest-rows.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libvmop/stat/ratio.h"

/* The largest count, of events or ms: a double has no whole numbers above it. */
#define LARGEST 9007199254740992.0
#define RUNS_MAX 1000000

static void cleanup_json(json_t **json)
{
	json_decref(*json);
}

void vmop_guest_rows_deinit(struct vmop_guest_rows *rows)
{
	for (size_t i = 0; i < rows->n; i++) {
		free((char *)rows->rows[i].name);
		free((char *)rows->rows[i].reason);
	}
	free(rows->rows);
	*rows = (struct vmop_guest_rows){0};
}

/* Read a number from 0 to high. A key that is absent is `otherwise`. */
static bool take_number(const json_t *object, const char *key, double high, double otherwise,
			double *ret)
{
	const json_t *value = json_object_get(object, key);
	*ret = value ? json_number_value(value) : otherwise;
	return (!value || json_is_number(value)) && *ret >= 0 && *ret <= high;
}

static bool take_text(const json_t *object, const char *key, const char **ret)
{
	const char *text = json_string_value(json_object_get(object, key));
	if (!text || !*text)
		return false;
	*ret = strdup(text);
	return true;
}

/* Make the values of n runs with that mean and that 99 % interval in percent of the mean. */
static struct vmop_spread spread_of(double mean, double n, double percent)
{
	struct vmop_spread spread = {.n = (size_t)n, .mean = mean};
	if (spread.n < 2)
		return spread;
	double error = mean * percent / 100 / vmop_student_99(spread.n - 1);
	spread.squares = error * error * n * (n - 1);
	return spread;
}

static bool take_ratio(const json_t *object, double n_runs, struct vmop_stat_row *row)
{
	double ratio, percent;
	const char *unit = json_string_value(json_object_get(object, "metric-unit"));
	row->ratio_unit = unit ? vmop_ratio_unit(unit) : NULL;
	if (!take_number(object, "metric-value", LARGEST, 0, &ratio) ||
	    !take_number(object, "metric-interval-99-percent", LARGEST, 0, &percent))
		return false;
	row->ratios = spread_of(ratio, n_runs, percent);
	return true;
}

/* Read the count of a row that has one. */
static bool take_count(const json_t *object, struct vmop_stat_row *row)
{
	double value, n_runs, percent, running_percent;
	if (!take_number(object, "counter-value", LARGEST, -1, &value) ||
	    !take_number(object, "runs", RUNS_MAX, 1, &n_runs) || n_runs < 1 ||
	    !take_number(object, "interval-99-percent", LARGEST, 0, &percent) ||
	    !take_number(object, "event-runtime", LARGEST * 1000, 0, &row->running_ns) ||
	    !take_number(object, "pcnt-running", 100, 100, &running_percent))
		return false;
	row->enabled_ns = running_percent > 0 ? row->running_ns * 100 / running_percent : 0;
	row->is_estimate = json_is_true(json_object_get(object, "is-estimate"));
	row->values = spread_of(row->is_time ? value * 1e6 : value, floor(n_runs), percent);
	return take_ratio(object, floor(n_runs), row);
}

/* Read one row. False: it is none of vmopstat's. The caller frees its texts in both cases. */
static bool take_row(const json_t *object, struct vmop_stat_row *row)
{
	const char *unit = json_string_value(json_object_get(object, "unit"));
	if (!unit || !take_text(object, "event", &row->name))
		return false;
	row->is_time = strcmp(unit, "msec") == 0;
	if (json_is_null(json_object_get(object, "counter-value")))
		return take_text(object, "reason", &row->reason);
	return take_count(object, row);
}

static struct vmop_error *not_a_row(size_t line)
{
	return vmop_error_new(VMOP_ERROR_CANT,
			      "line %zu of the guest's output is no count of vmopstat", line);
}

static struct vmop_error *take_line(const char *line, size_t len_bytes,
				    struct vmop_guest_rows *rows)
{
	if (rows->n == VMOP_GUEST_ROWS_MAX)
		return vmop_error_new(VMOP_ERROR_CANT, "the guest sent more than %d counts",
				      VMOP_GUEST_ROWS_MAX);
	_cleanup_(cleanup_json) json_t *object =
		json_loadb(line, len_bytes, JSON_REJECT_DUPLICATES, NULL);
	struct vmop_stat_row *row = &rows->rows[rows->n++];
	if (!json_is_object(object) || !take_row(object, row))
		return not_a_row(rows->n);
	bool is_whole = row->name && (row->reason || row->values.n > 0);
	return is_whole ? NULL : &vmop_error_no_memory;
}

struct vmop_error *vmop_guest_rows_parse(const char *text, size_t len_bytes,
					 struct vmop_guest_rows *ret)
{
	_cleanup_(vmop_guest_rows_deinit) struct vmop_guest_rows rows = {0};
	struct vmop_error *err = NULL;
	rows.rows = calloc(VMOP_GUEST_ROWS_MAX, sizeof(*rows.rows));
	if (!rows.rows)
		return &vmop_error_no_memory;
	if (len_bytes > VMOP_GUEST_ROWS_BYTES)
		return vmop_error_new(VMOP_ERROR_CANT, "the guest sent more than %d bytes",
				      VMOP_GUEST_ROWS_BYTES);
	for (const char *at = text, *end = text + len_bytes; !err && at < end;) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		const char *line_end = newline ? newline : end;
		err = take_line(at, (size_t)(line_end - at), &rows);
		at = line_end + 1;
	}
	if (!err && rows.n == 0)
		err = vmop_error_new(VMOP_ERROR_CANT, "the guest sent no counts");
	if (err)
		return err;
	*ret = rows;
	rows = (struct vmop_guest_rows){0};
	return NULL;
}
