// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/series/series.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "libutil/clock.h"
#include "opreport/arrange/rows.h"
#include "opreport/output/time-text.h"

enum column_id {
	COLUMN_TIME, /* as people write it */
	COLUMN_FROM, /* ISO 8601 */
	COLUMN_FROM_NS,
	COLUMN_TO_NS,
	COLUMN_LENGTH,
	COLUMN_DETAIL,
	COLUMN_DETAIL_NS,
	COLUMN_RECORDED_NS,
	COLUMN_SAMPLES,
	COLUMN_WEIGHT,
	COLUMN_PERCENT,
	COLUMN_PER_SECOND,
	COLUMN_SESSION,
	COLUMN_DOMAIN,
	COLUMN_CGROUP,
	COLUMN_TASK,
	COLUMN_IMAGE,
	COLUMN_SYMBOL,
};

enum { TIME_COLUMNS = 8, EVENT_COLUMNS = 4, NAME_COLUMNS = 8, TEXT_BYTES = 48 };

/* A row of the sheet: one of the result's, or SIZE_MAX for a step without samples. */
struct entry {
	uint32_t slot;
	size_t row;
};

/* The texts of a slot. */
struct slot_text {
	char time[TEXT_BYTES], from[TEXT_BYTES], length[TEXT_BYTES], detail[TEXT_BYTES];
};

struct vmop_series {
	struct vmop_series_settings settings;
	struct vmop_result *result;
	struct vmop_arena arena; /* all below */
	struct vmop_column *columns;
	struct entry *entries;
	struct slot_text *texts; /* by slot */
	const char **lines;
	bool is_coarse; /* the detail of some steps is coarser than the step */
	struct vmop_sheet sheet;
};

/* ---- times --------------------------------------------------------------------------- */

static bool read_local(uint64_t time_ns, struct tm *ret)
{
	time_t seconds = (time_t)(time_ns / VMOP_NS_PER_S);
	return localtime_r(&seconds, ret) != NULL;
}

/* Return whether the steps lie on both sides of a change of the zone's offset. */
static bool has_change(const struct vmop_time_slots *slots)
{
	struct tm first, now;
	for (size_t i = 0; i < slots->n; i++)
		if (read_local(slots->items[0].from_ns, &first) &&
		    read_local(slots->items[i].from_ns, &now) && first.tm_gmtoff != now.tm_gmtoff)
			return true;
	return false;
}

static void format_iso(const struct tm *tm, char ret[TEXT_BYTES])
{
	char zone[8];
	strftime(zone, sizeof(zone), "%z", tm);
	size_t len = strftime(ret, TEXT_BYTES, "%Y-%m-%dT%H:%M:%S", tm);
	snprintf(ret + len, TEXT_BYTES - len, "%.3s:%s", zone, zone + 3);
}

/* Format the length of steps in whole units, such as "5 min" or "25 h". */
static void format_length(uint64_t length_ns, char ret[TEXT_BYTES])
{
	static const struct {
		uint64_t seconds;
		const char *name;
	} units[] = {{86400, "d"}, {3600, "h"}, {60, "min"}, {1, "s"}};
	uint64_t seconds = length_ns / VMOP_NS_PER_S;
	size_t i = 0;
	while (units[i].seconds > 1 && (!seconds || seconds % units[i].seconds))
		i++;
	snprintf(ret, TEXT_BYTES, "%" PRIu64 " %s", seconds / units[i].seconds, units[i].name);
}

static struct vmop_error *add_texts(struct vmop_series *series)
{
	const struct vmop_time_slots *slots = &series->result->times;
	const char *format = slots->step_s % 86400 == 0 ? "%Y-%m-%d"
			     : slots->step_s % 60 == 0	? "%Y-%m-%d %H:%M"
							: "%Y-%m-%d %H:%M:%S";
	bool shows_zone = slots->step_s % 86400 && has_change(slots);
	series->texts = vmop_arena_alloc(&series->arena, (slots->n + 1) * sizeof(*series->texts));
	if (!series->texts)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < slots->n; i++) {
		const struct vmop_time_slot *slot = &slots->items[i];
		struct slot_text *text = &series->texts[i];
		struct tm tm = {0};
		*text = (struct slot_text){0};
		read_local(slot->from_ns, &tm);
		size_t len = strftime(text->time, TEXT_BYTES, format, &tm);
		if (shows_zone)
			strftime(text->time + len, TEXT_BYTES - len, " %z", &tm);
		format_iso(&tm, text->from);
		format_length(slot->to_ns - slot->from_ns, text->length);
		vmop_format_span(slot->longest_ns, text->detail, TEXT_BYTES);
		series->is_coarse |= slot->longest_ns > slots->step_s * VMOP_NS_PER_S;
	}
	return NULL;
}

/* Add the line on the steps to the lines of the report. */
static struct vmop_error *add_lines(struct vmop_series *series, const struct vmop_sheet *above)
{
	const struct vmop_time_slots *slots = &series->result->times;
	char step[TEXT_BYTES], longest[TEXT_BYTES], line[256];
	uint64_t longest_ns = 0;
	size_t n_coarse = 0;
	for (size_t i = 0; i < slots->n; i++) {
		uint64_t ns = slots->items[i].longest_ns;
		n_coarse += ns > slots->step_s * VMOP_NS_PER_S;
		longest_ns = ns > longest_ns ? ns : longest_ns;
	}
	format_length(slots->step_s * VMOP_NS_PER_S, step);
	if (longest_ns < 10 * VMOP_NS_PER_S) /* of 1.2 s on a busy machine, and not of 1 */
		snprintf(longest, sizeof(longest), "%.1f s", (double)longest_ns / 1e9);
	else
		vmop_format_span(longest_ns, longest, sizeof(longest));
	int len = snprintf(line, sizeof(line), "steps of %s, local time", step);
	if (n_coarse == 1)
		snprintf(line + len, sizeof(line) - (size_t)len,
			 "; 1 row of time is longer: it is stored by intervals of up to %s",
			 longest);
	else if (n_coarse)
		snprintf(line + len, sizeof(line) - (size_t)len,
			 "; %zu rows of time are longer: they are stored by intervals of up to %s",
			 n_coarse, longest);
	series->lines = vmop_arena_alloc(&series->arena, (above->n_lines + 1) * sizeof(char *));
	if (!series->lines)
		return &vmop_error_no_memory;
	if (above->n_lines)
		memcpy(series->lines, above->lines, above->n_lines * sizeof(char *));
	series->lines[above->n_lines] = vmop_arena_text(&series->arena, line);
	if (!series->lines[above->n_lines])
		return &vmop_error_no_memory;
	series->sheet.lines = series->lines;
	series->sheet.n_lines = above->n_lines + 1;
	series->sheet.facts = above->facts;
	series->sheet.n_facts = above->n_facts;
	return NULL;
}

/* ---- rows ---------------------------------------------------------------------------- */

static uint32_t slot_of(const struct vmop_row *row)
{
	return row->group->time - 1;
}

static int compare_entries(const void *a, const void *b, void *arg)
{
	const struct entry *x = a, *y = b;
	const struct vmop_result *result = arg;
	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	for (size_t e = 0; e < result->n_events; e++) {
		struct vmop_count left = vmop_result_sum(result, result->rows[x->row].counts, e);
		struct vmop_count right = vmop_result_sum(result, result->rows[y->row].counts, e);
		if (left.weight_events != right.weight_events)
			return left.weight_events > right.weight_events ? -1 : 1;
		if (left.samples != right.samples)
			return left.samples > right.samples ? -1 : 1;
	}
	return (x->row > y->row) - (x->row < y->row);
}

/* Fill entries from the sorted ones, with rows for empty steps and without those beyond top. */
static void fill_entries(struct vmop_series *series, const struct entry *sorted, size_t n)
{
	size_t at = 0;
	for (uint32_t slot = 0; slot < series->result->times.n; slot++) {
		uint64_t n_of_slot = 0;
		if (at == n || sorted[at].slot != slot)
			series->entries[series->sheet.n_rows++] = (struct entry){slot, SIZE_MAX};
		for (; at < n && sorted[at].slot == slot; at++, n_of_slot++)
			if (!series->settings.top || n_of_slot < series->settings.top)
				series->entries[series->sheet.n_rows++] = sorted[at];
	}
}

static struct vmop_error *add_rows(struct vmop_series *series)
{
	struct vmop_result *result = series->result;
	size_t n_max = result->n_rows + result->times.n, n = 0;
	struct entry *sorted = calloc(n_max + 1, sizeof(*sorted));
	series->entries = vmop_arena_alloc(&series->arena, (n_max + 1) * sizeof(*sorted));
	if (!sorted || !series->entries) {
		free(sorted);
		return &vmop_error_no_memory;
	}
	for (size_t i = 0; i < result->n_rows; i++)
		if (result->rows[i].group->time)
			sorted[n++] = (struct entry){slot_of(&result->rows[i]), i};
	if (n)
		qsort_r(sorted, n, sizeof(*sorted), compare_entries, result);
	fill_entries(series, sorted, n);
	free(sorted);
	if (series->sheet.n_rows <= series->settings.max_lines)
		return NULL;
	return vmop_error_new(VMOP_ERROR_USAGE,
			      "--over=time gives %zu rows, and this format prints %" PRIu64
			      "; take --top=N for the first of each step, or longer steps",
			      series->sheet.n_rows, series->settings.max_lines);
}

/* ---- columns ------------------------------------------------------------------------- */

static void add(struct vmop_series *series, enum column_id id, const char *name,
		const char *heading, enum vmop_value_type type, size_t event)
{
	series->columns[series->sheet.n_columns++] = (struct vmop_column){
		.name = name,
		.heading = heading,
		.type = type,
		.is_elastic = id == COLUMN_IMAGE || id == COLUMN_SYMBOL || id == COLUMN_CGROUP,
		.id = (int)id,
		.event = event,
	};
}

static const char *of_event(struct vmop_series *series, const char *name, size_t event)
{
	char text[512];
	if (series->result->n_events == 1)
		return name;
	snprintf(text, sizeof(text), "%s:%s", name,
		 vmop_result_event(series->result, event)->label);
	const char *kept = vmop_arena_text(&series->arena, text);
	return kept ? kept : "";
}

static void add_event_columns(struct vmop_series *series, size_t e)
{
	const struct vmop_event_item *event = vmop_result_event(series->result, e);
	bool is_clock = !strcmp(event->unit, "ns");
	const char *heading = series->result->n_events > 1 ? event->label : "samples";
	add(series, COLUMN_SAMPLES, of_event(series, "samples", e), heading, VMOP_VALUE_COUNT, e);
	add(series, COLUMN_WEIGHT, of_event(series, "weight", e), NULL, VMOP_VALUE_COUNT, e);
	add(series, COLUMN_PERCENT, of_event(series, "percent", e), "%", VMOP_VALUE_PERCENT, e);
	add(series, COLUMN_PER_SECOND, of_event(series, "per_second", e), is_clock ? "CPUs" : "/s",
	    VMOP_VALUE_RATIO, e);
}

static struct vmop_error *add_columns(struct vmop_series *series)
{
	static const struct {
		unsigned dimension;
		enum column_id id;
		const char *name;
	} names[] = {
		{VMOP_BY_SESSION, COLUMN_SESSION, "session"},
		{VMOP_BY_DOMAIN, COLUMN_DOMAIN, "domain"},
		{VMOP_BY_CGROUP, COLUMN_CGROUP, "cgroup"},
		{VMOP_BY_TASK, COLUMN_TASK, "task"},
		{VMOP_BY_IMAGE, COLUMN_IMAGE, "image"},
		{VMOP_BY_SYMBOL, COLUMN_SYMBOL, "symbol"},
	};
	size_t n_events = series->result->n_events;
	size_t n_max = TIME_COLUMNS + NAME_COLUMNS + EVENT_COLUMNS * n_events;
	series->columns = vmop_arena_alloc(&series->arena, n_max * sizeof(*series->columns));
	if (!series->columns)
		return &vmop_error_no_memory;
	series->sheet.columns = series->columns;
	add(series, COLUMN_TIME, "time", "from", VMOP_VALUE_TEXT, 0);
	add(series, COLUMN_FROM, "from", NULL, VMOP_VALUE_TEXT, 0);
	add(series, COLUMN_FROM_NS, "from_ns", NULL, VMOP_VALUE_COUNT, 0);
	add(series, COLUMN_TO_NS, "to_ns", NULL, VMOP_VALUE_COUNT, 0);
	add(series, COLUMN_LENGTH, "length", "for", VMOP_VALUE_TEXT, 0);
	add(series, COLUMN_DETAIL, "detail", series->is_coarse ? "detail" : NULL, VMOP_VALUE_TEXT,
	    0);
	add(series, COLUMN_DETAIL_NS, "detail_ns", NULL, VMOP_VALUE_COUNT, 0);
	add(series, COLUMN_RECORDED_NS, "recorded_ns", NULL, VMOP_VALUE_COUNT, 0);
	for (size_t e = 0; e < n_events; e++)
		add_event_columns(series, e);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (series->settings.by & names[i].dimension)
			add(series, names[i].id, names[i].name, names[i].name, VMOP_VALUE_TEXT, 0);
	return NULL;
}

/* ---- values -------------------------------------------------------------------------- */

static void time_value(const struct vmop_series *series, uint32_t slot, int id,
		       struct vmop_value *ret)
{
	const struct vmop_time_slot *of = &series->result->times.items[slot];
	const struct slot_text *texts = &series->texts[slot];
	switch (id) {
	case COLUMN_TIME:
		ret->text = texts->time;
		return;
	case COLUMN_FROM:
		ret->text = texts->from;
		return;
	case COLUMN_LENGTH:
		ret->text = texts->length;
		return;
	case COLUMN_DETAIL:
		ret->text = texts->detail;
		return;
	default:
		ret->number = id == COLUMN_FROM_NS     ? of->from_ns
			      : id == COLUMN_TO_NS     ? of->to_ns
			      : id == COLUMN_DETAIL_NS ? of->longest_ns
						       : of->recorded_ns;
	}
}

static void count_value(const struct vmop_series *series, const struct entry *entry,
			const struct vmop_column *column, struct vmop_value *ret)
{
	const struct vmop_result *result = series->result;
	const size_t e = column->event;
	const uint64_t recorded_ns = result->times.items[entry->slot].recorded_ns;
	struct vmop_count count = {0};
	if (entry->row != SIZE_MAX)
		count = vmop_result_sum(result, result->rows[entry->row].counts, e);
	bool is_clock = !strcmp(vmop_result_event(result, e)->unit, "ns");
	double events = (double)count.weight_events / (is_clock ? 1e9 : 1);
	switch (column->id) {
	case COLUMN_SAMPLES:
		ret->number = count.samples;
		break;
	case COLUMN_WEIGHT:
		ret->number = count.weight_events;
		break;
	case COLUMN_PERCENT:
		ret->percent = vmop_share_percent(
			count, result->time_base[entry->slot * result->n_events + e]);
		break;
	default:
		ret->is_empty = !recorded_ns;
		ret->ratio = recorded_ns ? events * 1e9 / (double)recorded_ns : 0;
	}
}

static void name_value(const struct vmop_series *series, const struct entry *entry, int id,
		       struct vmop_value *ret)
{
	struct vmop_result *result = series->result;
	ret->is_empty = entry->row == SIZE_MAX;
	if (ret->is_empty)
		return;
	struct vmop_row *row = &result->rows[entry->row];
	switch (id) {
	case COLUMN_SESSION:
		ret->text = vmop_row_session(result, row);
		break;
	case COLUMN_DOMAIN:
		ret->text = vmop_row_domain(result, row)->name;
		break;
	case COLUMN_CGROUP:
		ret->text = vmop_row_cgroup(result, row);
		break;
	case COLUMN_TASK:
		ret->text = vmop_row_task(result, row)->comm;
		break;
	case COLUMN_IMAGE:
		ret->text = vmop_row_image(result, row)->name;
		if (series->settings.for_people)
			ret->text = vmop_image_base_name(ret->text);
		break;
	default:
		ret->text = vmop_result_symbol_name(result, row);
	}
}

static void values(const struct vmop_sheet *sheet, size_t row, size_t detail,
		   struct vmop_value *ret)
{
	(void)detail;
	const struct vmop_series *series = sheet->data;
	const struct entry *entry = &series->entries[row];
	for (size_t c = 0; c < sheet->n_columns; c++) {
		const struct vmop_column *column = &sheet->columns[c];
		if (column->id <= COLUMN_RECORDED_NS)
			time_value(series, entry->slot, column->id, &ret[c]);
		else if (column->id <= COLUMN_PER_SECOND)
			count_value(series, entry, column, &ret[c]);
		else
			name_value(series, entry, column->id, &ret[c]);
	}
}

/* ---- the series ---------------------------------------------------------------------- */

struct vmop_error *vmop_series_create(const struct vmop_series_settings *settings,
				      struct vmop_result *result, const struct vmop_sheet *above,
				      struct vmop_series **ret)
{
	struct vmop_series *series = calloc(1, sizeof(*series));
	if (!series)
		return &vmop_error_no_memory;
	series->settings = *settings;
	series->result = result;
	series->sheet.values = values;
	series->sheet.data = series;
	struct vmop_error *err = add_texts(series);
	if (!err)
		err = add_lines(series, above);
	if (!err)
		err = add_rows(series);
	if (!err)
		err = add_columns(series);
	if (err) {
		vmop_series_destroy(series);
		return err;
	}
	*ret = series;
	return NULL;
}

void vmop_series_destroy(struct vmop_series *series)
{
	if (!series)
		return;
	vmop_arena_deinit(&series->arena);
	free(series);
}

const struct vmop_sheet *vmop_series_sheet(const struct vmop_series *series)
{
	return &series->sheet;
}
