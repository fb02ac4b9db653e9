// SPDX-License-Identifier: GPL-2.0-or-later
/* Which columns a report has, and what is in their cells. */
#include "opreport/arrange/report-open.h"
#include "opreport/query/idle.h"

#include <stdio.h>
#include <string.h>

enum {
	MAX_FIXED_COLUMNS = 16,
	MAX_EVENT_COLUMNS = 5 + 3 * VMOP_N_PARTS,
	RATIO_COLUMNS = 3,
};

enum column_id {
	COLUMN_ADDRESS,
	COLUMN_SAMPLES,
	COLUMN_WEIGHT,
	COLUMN_PERCENT,
	COLUMN_SUM_SAMPLES,
	COLUMN_SUM_PERCENT,
	COLUMN_SESSION,
	COLUMN_DOMAIN,
	COLUMN_LIFE,
	COLUMN_MODE,
	COLUMN_CERTAINTY,
	COLUMN_CPU,
	COLUMN_VCPU,
	COLUMN_TASK,
	COLUMN_PID,
	COLUMN_TID,
	COLUMN_PROCESSES,
	COLUMN_CGROUP,
	COLUMN_IMAGE,
	COLUMN_SYMBOL,
	COLUMN_RATIO,
	COLUMN_RATIO_LOW,
	COLUMN_RATIO_HIGH,
	COLUMN_PART_SAMPLES, /* + enum vmop_part; then weights, then percents */
	COLUMN_PART_WEIGHT = COLUMN_PART_SAMPLES + VMOP_N_PARTS,
	COLUMN_PART_PERCENT = COLUMN_PART_WEIGHT + VMOP_N_PARTS,
};

static const char *const part_names[] = {"user", "kernel", "hypervisor", "vmm", "other"};
static const char *const part_headings[] = {"user %", "kernel %", "hypervisor %", "VMM %",
					    "unknown %"};

/* ---- which ---------------------------------------------------------------- */

/* Name and heading in the arena; several events tell their columns apart by ":EVENT". */
static struct vmop_error *add(struct vmop_report *report, int id, const char *name,
			      const char *heading, enum vmop_cell_type type, size_t event)
{
	if (report->sheet.n_columns == report->n_columns_max)
		return vmop_error_new(VMOP_ERROR_LIMIT, "no room for the column '%s'", name);
	struct vmop_column *column = &report->columns[report->sheet.n_columns];
	*column = (struct vmop_column){
		.name = name, .heading = heading, .type = type, .id = id, .event = event};
	if (!column->name)
		return &vmop_error_no_memory;
	report->sheet.n_columns++;
	return NULL;
}

static const char *event_name(const struct vmop_report *report, size_t event)
{
	return vmop_result_event(report->result, event)->label;
}

/* "samples", or "samples:cycles" where there are several events. */
static const char *of_event(struct vmop_report *report, const char *name, size_t event)
{
	if (report->result->n_events == 1)
		return name;
	char text[256];
	snprintf(text, sizeof(text), "%s:%s", name, event_name(report, event));
	return vmop_arena_text(&report->arena, text);
}

/* Bits 1 << enum vmop_part of the parts that have a column: those of all domains, or some samples.
 */
static unsigned find_shown_parts(const struct vmop_result *result)
{
	const unsigned all = (1u << VMOP_N_PARTS) - 1;
	unsigned shown = 1u << VMOP_PART_USER | 1u << VMOP_PART_KERNEL;
	size_t n_slots = result->n_events * result->n_parts;
	for (size_t row = 0; row < result->n_rows && shown != all; row++) {
		for (size_t slot = 0; slot < n_slots; slot++) {
			if (result->rows[row].counts[slot].samples)
				shown |= 1u << slot % result->n_parts;
		}
	}
	return shown;
}

static struct vmop_error *add_part_columns(struct vmop_report *report, size_t event,
					   unsigned shown_parts)
{
	struct vmop_error *err = NULL;
	for (size_t part = 0; part < VMOP_N_PARTS && !err; part++) {
		bool is_shown = shown_parts & 1u << part;
		char name[32];
		snprintf(name, sizeof(name), "%s_percent", part_names[part]);
		err = add(report, COLUMN_PART_PERCENT + (int)part,
			  of_event(report, vmop_arena_text(&report->arena, name), event),
			  is_shown ? of_event(report, part_headings[part], event) : NULL,
			  VMOP_CELL_PERCENT, event);
		snprintf(name, sizeof(name), "%s_samples", part_names[part]);
		if (!err)
			err = add(report, COLUMN_PART_SAMPLES + (int)part,
				  of_event(report, vmop_arena_text(&report->arena, name), event),
				  NULL, VMOP_CELL_COUNT, event);
		snprintf(name, sizeof(name), "%s_weight", part_names[part]);
		if (!err)
			err = add(report, COLUMN_PART_WEIGHT + (int)part,
				  of_event(report, vmop_arena_text(&report->arena, name), event),
				  NULL, VMOP_CELL_COUNT, event);
	}
	return err;
}

static struct vmop_error *add_event_columns(struct vmop_report *report, size_t event,
					    unsigned shown_parts)
{
	bool several = report->result->n_events > 1;
	bool by_part = report->result->n_parts > 1;
	struct vmop_error *err =
		add(report, COLUMN_SAMPLES, of_event(report, "samples", event),
		    several ? event_name(report, event) : "samples", VMOP_CELL_COUNT, event);
	if (!err)
		err = add(report, COLUMN_WEIGHT, of_event(report, "weight", event), NULL,
			  VMOP_CELL_COUNT, event);
	if (!err && by_part)
		err = add_part_columns(report, event, shown_parts);
	if (!err)
		err = add(report, COLUMN_PERCENT, of_event(report, "percent", event),
			  by_part ? "% of machine" : "%", VMOP_CELL_PERCENT, event);
	if (!err && report->options.accumulated)
		err = add(report, COLUMN_SUM_SAMPLES, of_event(report, "cum_samples", event),
			  "cum. samples", VMOP_CELL_COUNT, event);
	if (!err && report->options.accumulated)
		err = add(report, COLUMN_SUM_PERCENT, of_event(report, "cum_percent", event),
			  "cum. %", VMOP_CELL_PERCENT, event);
	return err;
}

static struct vmop_error *add_ratio_columns(struct vmop_report *report, size_t i)
{
	static const struct {
		enum column_id id;
		const char *what;
	} columns[RATIO_COLUMNS] = {
		{COLUMN_RATIO, "ratio"}, {COLUMN_RATIO_LOW, "low"}, {COLUMN_RATIO_HIGH, "high"}};
	const char *of = report->ratios->items[i].name;
	struct vmop_error *err = NULL;
	for (size_t c = 0; c < RATIO_COLUMNS && !err; c++) {
		char name[256];
		snprintf(name, sizeof(name), "%s:%s", columns[c].what, of);
		err = add(report, (int)columns[c].id, vmop_arena_text(&report->arena, name),
			  columns[c].id == COLUMN_RATIO ? of : NULL, VMOP_CELL_RATIO, i);
	}
	return err;
}

/* A column that says the same in all rows is noise, unless it was asked for. */
static bool has_guests(const struct vmop_result *result)
{
	size_t n = 0;
	for (size_t i = 1; i < result->catalog.domains.n; i++)
		n += vmop_catalog_domain(&result->catalog, i)->row == i;
	return n > 1;
}

static bool has_cpus(const struct vmop_result *result)
{
	for (size_t i = 0; i < result->n_rows; i++) {
		if (vmop_group_has_cpu(result->rows[i].group))
			return true;
	}
	return false;
}

static bool has_threads(const struct vmop_result *result)
{
	for (size_t i = 0; i < result->n_rows; i++) {
		const struct vmop_task_item *task = vmop_row_task(result, &result->rows[i]);
		if (task->tid && task->tid != task->pid)
			return true;
	}
	return false;
}

static bool has_merged(const struct vmop_result *result)
{
	for (size_t i = 0; i < result->n_rows; i++)
		if (vmop_row_task(result, &result->rows[i])->is_merged)
			return true;
	return false;
}

struct vmop_error *vmop_report_add_columns(struct vmop_report *report)
{
	const struct vmop_result *result = report->result;
	unsigned dimensions = result->dimensions;
	bool is_by_process = (dimensions & VMOP_BY_TASK) && !(report->options.merged_commands);
	bool shows_cpu = (report->options.by & VMOP_BY_CPU) || has_cpus(result);
	bool shows_domain = (report->options.by & VMOP_BY_DOMAIN) || has_guests(result);
	const struct {
		bool is_in;
		int id;
		const char *name, *heading;
		enum vmop_cell_type type;
		bool is_elastic;
	} columns[] = {
		{dimensions & VMOP_BY_SESSION, COLUMN_SESSION, "session", "session", VMOP_CELL_TEXT,
		 false},
		{dimensions & VMOP_BY_DOMAIN, COLUMN_DOMAIN, "domain",
		 shows_domain ? "domain" : NULL, VMOP_CELL_TEXT, false},
		{dimensions & VMOP_BY_LIFE, COLUMN_LIFE, "life", "life", VMOP_CELL_TEXT, false},
		{true, COLUMN_MODE, "mode", (dimensions & VMOP_BY_MODE) ? "mode" : NULL,
		 VMOP_CELL_TEXT, false},
		{dimensions & VMOP_BY_CERTAINTY, COLUMN_CERTAINTY, "certainty", "certainty",
		 VMOP_CELL_TEXT, false},
		{(dimensions & VMOP_BY_CPU) && shows_cpu, COLUMN_CPU, "cpu", "cpu", VMOP_CELL_COUNT,
		 false},
		{dimensions & VMOP_BY_VCPU, COLUMN_VCPU, "vcpu", "vcpu", VMOP_CELL_COUNT, false},
		{is_by_process, COLUMN_PID, "pid", "pid", VMOP_CELL_COUNT, false},
		{is_by_process && has_threads(result), COLUMN_TID, "tid", "tid", VMOP_CELL_COUNT,
		 false},
		{is_by_process && has_merged(result), COLUMN_PROCESSES, "processes", "processes",
		 VMOP_CELL_COUNT, false},
		{dimensions & VMOP_BY_TASK, COLUMN_TASK, "task", "task", VMOP_CELL_TEXT, false},
		{dimensions & VMOP_BY_CGROUP, COLUMN_CGROUP, "cgroup", "cgroup", VMOP_CELL_TEXT,
		 true},
		{dimensions & VMOP_BY_IMAGE, COLUMN_IMAGE, "image", "image", VMOP_CELL_TEXT, true},
		{dimensions & VMOP_BY_SYMBOL, COLUMN_SYMBOL, "symbol", "symbol", VMOP_CELL_TEXT,
		 true},
	};
	_Static_assert(sizeof(columns) / sizeof(*columns) + 1 <= MAX_FIXED_COLUMNS,
		       "room for them and the address");
	size_t n_max = MAX_FIXED_COLUMNS + MAX_EVENT_COLUMNS * result->n_events +
		       RATIO_COLUMNS * report->ratios->n;
	report->columns = vmop_arena_alloc(&report->arena, n_max * sizeof(*report->columns));
	if (!report->columns)
		return &vmop_error_no_memory;
	report->n_columns_max = n_max;
	report->sheet.columns = report->columns;
	bool shows_address = report->options.show_address || result->n_details;
	struct vmop_error *err = NULL;
	if (dimensions & VMOP_BY_SYMBOL)
		err = add(report, COLUMN_ADDRESS, "address", shows_address ? "address" : NULL,
			  VMOP_CELL_ADDRESS, 0);
	unsigned shown_parts = result->n_parts > 1 ? find_shown_parts(result) : 0;
	for (size_t e = 0; e < result->n_events && !err; e++)
		err = add_event_columns(report, e, shown_parts);
	for (size_t i = 0; i < report->ratios->n && !err; i++)
		err = add_ratio_columns(report, i);
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns) && !err; i++) {
		if (!columns[i].is_in)
			continue;
		err = add(report, columns[i].id, columns[i].name, columns[i].heading,
			  columns[i].type, 0);
		report->columns[report->sheet.n_columns - 1].is_elastic = columns[i].is_elastic;
	}
	return err;
}

/* ---- what is in them ------------------------------------------------------ */

/* The one mode of a row's samples, or "mixed". */
static const char *mode_name(uint8_t modes)
{
	static const char *const names[] = {"unknown", "hypervisor", "kernel", "user"};
	for (size_t mode = 0; mode < sizeof(names) / sizeof(*names); mode++) {
		if (modes == 1u << mode)
			return names[mode];
	}
	return "mixed";
}

static const char *certainty_name(const struct vmop_row *row)
{
	static const char *const names[] = {"", "exact", "likely", "ambiguous"};
	return names[row->group->certainty & 3];
}

static const char *image_name(const struct vmop_report *report, const struct vmop_row *row)
{
	const struct vmop_image_item *image = vmop_row_image(report->result, row);
	return report->options.long_filenames ? image->name : vmop_image_base_name(image->name);
}

static void number_or_empty(struct vmop_cell *ret, uint64_t number, bool is_known)
{
	ret->number = number;
	ret->is_empty = !is_known;
}

static void name_cell(const struct vmop_report *report, struct vmop_row *row, int id,
		      struct vmop_cell *ret)
{
	const struct vmop_task_item *task = vmop_row_task(report->result, row);
	switch (id) {
	case COLUMN_SESSION:
		ret->text = vmop_row_session(report->result, row);
		break;
	case COLUMN_DOMAIN:
		ret->text = vmop_row_domain(report->result, row)->name;
		break;
	case COLUMN_LIFE:
		ret->text = vmop_row_domain(report->result, row)->life_name;
		break;
	case COLUMN_MODE:
		ret->text = mode_name(row->modes);
		break;
	case COLUMN_CERTAINTY:
		ret->text = certainty_name(row);
		break;
	case COLUMN_CPU:
		number_or_empty(ret, row->group->cpu - 2, vmop_group_has_cpu(row->group));
		break;
	case COLUMN_VCPU:
		number_or_empty(ret, row->group->vcpu - 2, vmop_group_has_vcpu(row->group));
		break;
	case COLUMN_TASK:
		ret->text = task->comm;
		break;
	case COLUMN_PID:
		number_or_empty(ret, task->pid, task->id != 0 && !task->is_merged);
		break;
	case COLUMN_TID:
		number_or_empty(ret, task->tid, task->tid != 0);
		break;
	case COLUMN_PROCESSES:
		number_or_empty(ret, task->n_processes, task->id != 0);
		break;
	case COLUMN_CGROUP:
		ret->text = vmop_row_cgroup(report->result, row);
		break;
	case COLUMN_IMAGE:
		ret->text = image_name(report, row);
		break;
	case COLUMN_SYMBOL:
		ret->text = vmop_result_symbol_name(report->result, row);
		break;
	default:
		ret->is_empty = true;
	}
}

/* The counts in one row (or detail) of one event. */
static void count_cell(const struct vmop_report *report, size_t row_number,
		       const struct vmop_count *counts, struct vmop_count base,
		       const struct vmop_column *column, struct vmop_cell *ret)
{
	const struct vmop_result *result = report->result;
	struct vmop_count sum = vmop_result_sum(result, counts, column->event);
	int part = (column->id - COLUMN_PART_SAMPLES) % VMOP_N_PARTS;
	if (column->id >= COLUMN_PART_SAMPLES)
		sum = counts[column->event * result->n_parts + (size_t)part];
	bool is_accumulated = column->id == COLUMN_SUM_SAMPLES || column->id == COLUMN_SUM_PERCENT;
	if (is_accumulated)
		sum = report->sums[row_number * result->n_events + column->event];
	if (column->type == VMOP_CELL_PERCENT)
		ret->percent = vmop_share_percent(sum, base);
	else if (column->id == COLUMN_WEIGHT ||
		 (column->id >= COLUMN_PART_WEIGHT && column->id < COLUMN_PART_PERCENT))
		ret->number = sum.weight_events;
	else
		ret->number = sum.samples;
}

/* In one row or detail. */
static void ratio_cell(const struct vmop_report *report, const struct vmop_count *counts,
		       const struct vmop_column *column, struct vmop_cell *ret)
{
	static const char marks[] = {[VMOP_RATIO_NONE] = VMOP_MARK_UNKNOWN,
				     [VMOP_RATIO_BELOW] = VMOP_MARK_BELOW,
				     [VMOP_RATIO_ROUGH] = VMOP_MARK_ROUGH,
				     [VMOP_RATIO_CLOSE] = VMOP_MARK_NONE};
	struct vmop_ratio_value value =
		vmop_ratio_of(&report->ratios->items[column->event], report->result, counts);
	if (column->id == COLUMN_RATIO) {
		ret->mark = marks[value.quality];
		ret->ratio = value.quality == VMOP_RATIO_BELOW ? value.high : value.value;
		return;
	}
	ret->mark = value.has_interval ? VMOP_MARK_NONE : VMOP_MARK_UNKNOWN;
	ret->ratio = column->id == COLUMN_RATIO_LOW ? value.low : value.high;
}

static bool is_ratio(int id)
{
	return id >= COLUMN_RATIO && id <= COLUMN_RATIO_HIGH;
}

static bool is_count(int id)
{
	return (id >= COLUMN_SAMPLES && id <= COLUMN_SUM_PERCENT) || id >= COLUMN_PART_SAMPLES;
}

static void detail_cell(const struct vmop_report *report, const struct vmop_row *row,
			const struct vmop_detail *detail, const struct vmop_column *column,
			struct vmop_cell *ret)
{
	const struct vmop_result *result = report->result;
	if (column->id == COLUMN_ADDRESS) {
		ret->number = detail->address;
		return;
	}
	if (is_ratio(column->id)) {
		ratio_cell(report, detail->counts, column, ret);
		return;
	}
	ret->is_empty = column->id < COLUMN_SAMPLES || column->id > COLUMN_PERCENT;
	if (ret->is_empty)
		return;
	struct vmop_count base = report->options.global_percent
					 ? result->base[column->event]
					 : vmop_result_sum(result, row->counts, column->event);
	count_cell(report, 0, detail->counts, base, column, ret);
}

void vmop_report_cell(const struct vmop_sheet *sheet, size_t row_number, size_t detail,
		      const struct vmop_column *column, struct vmop_cell *ret)
{
	const struct vmop_report *report = sheet->data;
	struct vmop_row *row = &report->result->rows[row_number];
	if (detail != VMOP_NO_DETAIL)
		detail_cell(report, row, &report->result->details[row->first_detail + detail],
			    column, ret);
	else if (column->id == COLUMN_ADDRESS)
		number_or_empty(ret, row->address,
				row->symbol != NULL && row->symbol != &vmop_idle_symbol);
	else if (is_ratio(column->id))
		ratio_cell(report, row->counts, column, ret);
	else if (is_count(column->id))
		count_cell(report, row_number, row->counts, report->result->base[column->event],
			   column, ret);
	else
		name_cell(report, row, column->id, ret);
}
