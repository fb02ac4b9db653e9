// SPDX-License-Identifier: GPL-2.0-or-later
/* Choose the columns of a report. */
#include "opreport/arrange/report-open.h"

#include <stdio.h>
#include <string.h>

enum {
	MAX_FIXED_COLUMNS = 16,
	MAX_EVENT_COLUMNS = 8 + 3 * VMOP_N_PARTS,
	RATIO_COLUMNS = 3,
};

static const char *const part_names[] = {"user", "kernel", "hypervisor", "vmm", "other"};
static const char *const part_headings[] = {"user %", "kernel %", "hypervisor %", "VMM %",
					    "unknown %"};

/* Append a column.  name and heading live as long as the report. */
static struct vmop_error *add(struct vmop_report *report, int id, const char *name,
			      const char *heading, enum vmop_value_type type, size_t event)
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

/* Return "samples", or "samples:cycles" if there are several events. */
static const char *of_event(struct vmop_report *report, const char *name, size_t event)
{
	if (report->result->n_events == 1)
		return name;
	char text[256];
	snprintf(text, sizeof(text), "%s:%s", name, event_name(report, event));
	return vmop_arena_text(&report->arena, text);
}

/* Return bits 1 << enum vmop_part of the columns to show: user, kernel, and parts with samples. */
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
			  VMOP_VALUE_PERCENT, event);
		snprintf(name, sizeof(name), "%s_samples", part_names[part]);
		if (!err)
			err = add(report, COLUMN_PART_SAMPLES + (int)part,
				  of_event(report, vmop_arena_text(&report->arena, name), event),
				  NULL, VMOP_VALUE_COUNT, event);
		snprintf(name, sizeof(name), "%s_weight", part_names[part]);
		if (!err)
			err = add(report, COLUMN_PART_WEIGHT + (int)part,
				  of_event(report, vmop_arena_text(&report->arena, name), event),
				  NULL, VMOP_VALUE_COUNT, event);
	}
	return err;
}

/* Add the columns of inclusive totals. */
static struct vmop_error *add_total_columns(struct vmop_report *report, size_t event)
{
	struct vmop_error *err =
		add(report, COLUMN_TOTAL_SAMPLES, of_event(report, "total_samples", event), "total",
		    VMOP_VALUE_COUNT, event);
	if (!err)
		err = add(report, COLUMN_TOTAL_WEIGHT, of_event(report, "total_weight", event),
			  NULL, VMOP_VALUE_COUNT, event);
	if (!err)
		err = add(report, COLUMN_TOTAL_PERCENT, of_event(report, "total_percent", event),
			  "total %", VMOP_VALUE_PERCENT, event);
	return err;
}

static struct vmop_error *add_event_columns(struct vmop_report *report, size_t event,
					    unsigned shown_parts)
{
	bool several = report->result->n_events > 1;
	bool by_part = report->result->n_parts > 1;
	struct vmop_error *err =
		add(report, COLUMN_SAMPLES, of_event(report, "samples", event),
		    several ? event_name(report, event) : "samples", VMOP_VALUE_COUNT, event);
	if (!err)
		err = add(report, COLUMN_WEIGHT, of_event(report, "weight", event), NULL,
			  VMOP_VALUE_COUNT, event);
	if (!err && by_part)
		err = add_part_columns(report, event, shown_parts);
	if (!err)
		err = add(report, COLUMN_PERCENT, of_event(report, "percent", event),
			  by_part ? "% of machine" : "%", VMOP_VALUE_PERCENT, event);
	if (!err && report->result->below)
		err = add_total_columns(report, event);
	if (!err && report->options.accumulated)
		err = add(report, COLUMN_SUM_SAMPLES, of_event(report, "cum_samples", event),
			  "cum. samples", VMOP_VALUE_COUNT, event);
	if (!err && report->options.accumulated)
		err = add(report, COLUMN_SUM_PERCENT, of_event(report, "cum_percent", event),
			  "cum. %", VMOP_VALUE_PERCENT, event);
	return err;
}

static struct vmop_error *add_ratio_columns(struct vmop_report *report, size_t i)
{
	static const struct {
		enum vmop_column_id id;
		const char *what;
	} columns[RATIO_COLUMNS] = {
		{COLUMN_RATIO, "ratio"}, {COLUMN_RATIO_LOW, "low"}, {COLUMN_RATIO_HIGH, "high"}};
	const char *of = report->ratios->items[i].name;
	struct vmop_error *err = NULL;
	for (size_t c = 0; c < RATIO_COLUMNS && !err; c++) {
		char name[256];
		snprintf(name, sizeof(name), "%s:%s", columns[c].what, of);
		err = add(report, (int)columns[c].id, vmop_arena_text(&report->arena, name),
			  columns[c].id == COLUMN_RATIO ? of : NULL, VMOP_VALUE_RATIO, i);
	}
	return err;
}

/* Return whether the column `domain` differs between rows.  If not, only --by=domain shows it. */
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

/* Add the columns of a row's properties: its domain, task, image and so on. */
static struct vmop_error *add_fixed_columns(struct vmop_report *report)
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
		enum vmop_value_type type;
		bool is_elastic;
	} columns[] = {
		{dimensions & VMOP_BY_SESSION, COLUMN_SESSION, "session", "session",
		 VMOP_VALUE_TEXT, false},
		{dimensions & VMOP_BY_DOMAIN, COLUMN_DOMAIN, "domain",
		 shows_domain ? "domain" : NULL, VMOP_VALUE_TEXT, false},
		{dimensions & VMOP_BY_LIFE, COLUMN_LIFE, "life", "life", VMOP_VALUE_TEXT, false},
		{true, COLUMN_MODE, "mode", (dimensions & VMOP_BY_MODE) ? "mode" : NULL,
		 VMOP_VALUE_TEXT, false},
		{dimensions & VMOP_BY_CERTAINTY, COLUMN_CERTAINTY, "certainty", "certainty",
		 VMOP_VALUE_TEXT, false},
		{(dimensions & VMOP_BY_CPU) && shows_cpu, COLUMN_CPU, "cpu", "cpu",
		 VMOP_VALUE_COUNT, false},
		{dimensions & VMOP_BY_VCPU, COLUMN_VCPU, "vcpu", "vcpu", VMOP_VALUE_COUNT, false},
		{is_by_process, COLUMN_PID, "pid", "pid", VMOP_VALUE_COUNT, false},
		{is_by_process && has_threads(result), COLUMN_TID, "tid", "tid", VMOP_VALUE_COUNT,
		 false},
		{is_by_process && has_merged(result), COLUMN_PROCESSES, "processes", "processes",
		 VMOP_VALUE_COUNT, false},
		{dimensions & VMOP_BY_TASK, COLUMN_TASK, "task", "task", VMOP_VALUE_TEXT, false},
		{dimensions & VMOP_BY_CGROUP, COLUMN_CGROUP, "cgroup", "cgroup", VMOP_VALUE_TEXT,
		 true},
		{dimensions & VMOP_BY_IMAGE, COLUMN_IMAGE, "image", "image", VMOP_VALUE_TEXT, true},
		{dimensions & VMOP_BY_SYMBOL, COLUMN_SYMBOL, "symbol", "symbol", VMOP_VALUE_TEXT,
		 true},
	};
	_Static_assert(sizeof(columns) / sizeof(*columns) + 1 <= MAX_FIXED_COLUMNS,
		       "room for them and the address");
	for (size_t i = 0; i < sizeof(columns) / sizeof(*columns); i++) {
		if (!columns[i].is_in)
			continue;
		struct vmop_error *err = add(report, columns[i].id, columns[i].name,
					     columns[i].heading, columns[i].type, 0);
		if (err)
			return err;
		report->columns[report->sheet.n_columns - 1].is_elastic = columns[i].is_elastic;
	}
	return NULL;
}

struct vmop_error *vmop_report_add_columns(struct vmop_report *report)
{
	const struct vmop_result *result = report->result;
	size_t n_max = MAX_FIXED_COLUMNS + MAX_EVENT_COLUMNS * result->n_events +
		       RATIO_COLUMNS * report->ratios->n;
	report->columns = vmop_arena_alloc(&report->arena, n_max * sizeof(*report->columns));
	if (!report->columns)
		return &vmop_error_no_memory;
	report->n_columns_max = n_max;
	report->sheet.columns = report->columns;
	bool shows_address = report->options.show_address || result->n_details;
	struct vmop_error *err = NULL;
	if (result->dimensions & VMOP_BY_SYMBOL)
		err = add(report, COLUMN_ADDRESS, "address", shows_address ? "address" : NULL,
			  VMOP_VALUE_ADDRESS, 0);
	unsigned shown_parts = result->n_parts > 1 ? find_shown_parts(result) : 0;
	for (size_t e = 0; e < result->n_events && !err; e++)
		err = add_event_columns(report, e, shown_parts);
	for (size_t i = 0; i < report->ratios->n && !err; i++)
		err = add_ratio_columns(report, i);
	return err ? err : add_fixed_columns(report);
}
