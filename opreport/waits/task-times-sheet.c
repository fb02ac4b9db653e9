// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/waits/task-times-sheet.h"

#include <stdio.h>
#include <stdlib.h>

#define N_OF(array) (sizeof(array) / sizeof(*(array)))

enum column_id {
	DOMAIN,
	SECONDS,
	ERROR_SECONDS,
	PERCENT, /* of the guest's running time */
	TIME_NS,
	ERROR_NS,
	SAMPLES,
	KIND,
	PID,
	TASK,
};

static const struct vmop_column columns[] = {
	{"domain", "domain", VMOP_VALUE_TEXT, true, DOMAIN, 0},
	{"seconds", "seconds", VMOP_VALUE_RATIO, false, SECONDS, 0},
	{"error_seconds", "+- seconds", VMOP_VALUE_RATIO, false, ERROR_SECONDS, 0},
	{"percent", "% of running", VMOP_VALUE_PERCENT, false, PERCENT, 0},
	{"time_ns", NULL, VMOP_VALUE_COUNT, false, TIME_NS, 0},
	{"error_ns", NULL, VMOP_VALUE_COUNT, false, ERROR_NS, 0},
	{"samples", "samples", VMOP_VALUE_COUNT, false, SAMPLES, 0},
	{"kind", NULL, VMOP_VALUE_TEXT, false, KIND, 0},
	{"pid", "pid", VMOP_VALUE_COUNT, false, PID, 0},
	{"task", "task", VMOP_VALUE_TEXT, true, TASK, 0},
};

struct vmop_task_times_sheet {
	const struct vmop_task_times *times;
	char lines[3][240];
	const char *line_list[3];
	struct vmop_sheet sheet;
};

/* ---- values ----------------------------------------------------------------------------- */

/* Damaged sessions have any sum. */
static uint64_t whole_ns(double time_ns)
{
	return time_ns < 0x1p63 ? (uint64_t)time_ns : UINT64_C(1) << 63;
}

static const char *kind_name(enum vmop_task_time_kind kind)
{
	static const char *const names[] = {
		[VMOP_TASK_TIME_TASK] = "task",
		[VMOP_TASK_TIME_EXITS] = "exits",
		[VMOP_TASK_TIME_UNSAMPLED] = "unsampled",
	};
	return names[kind];
}

static const char *task_name(const struct vmop_task_times *times, const struct vmop_task_time *item)
{
	if (item->kind == VMOP_TASK_TIME_EXITS)
		return "[exits]";
	if (item->kind == VMOP_TASK_TIME_UNSAMPLED)
		return "[no samples]";
	return item->task ? vmop_catalog_task(&times->result.catalog, item->task)->comm
			  : "[unknown]";
}

static void value(const struct vmop_task_times *times, const struct vmop_task_time *item, int id,
		  struct vmop_value *ret)
{
	const struct vmop_catalog *catalog = &times->result.catalog;
	bool is_task = item->kind == VMOP_TASK_TIME_TASK;
	switch (id) {
	case DOMAIN:
		ret->text = vmop_catalog_domain(catalog, item->domain)->name;
		break;
	case SECONDS:
		ret->ratio = item->time_ns / 1e9;
		break;
	case ERROR_SECONDS:
		ret->is_empty = !is_task;
		ret->ratio = item->error_ns / 1e9;
		break;
	case PERCENT:
		ret->percent = item->running_ns > 0 ? 100 * item->time_ns / item->running_ns : 0;
		break;
	case TIME_NS:
		ret->number = whole_ns(item->time_ns);
		break;
	case ERROR_NS:
		ret->is_empty = !is_task;
		ret->number = whole_ns(item->error_ns);
		break;
	case SAMPLES:
		ret->is_empty = !is_task;
		ret->number = item->samples;
		break;
	case KIND:
		ret->text = kind_name(item->kind);
		break;
	case PID:
		ret->is_empty = !item->task;
		ret->number = vmop_catalog_task(catalog, item->task)->pid;
		break;
	default:
		ret->text = task_name(times, item);
	}
}

static void values(const struct vmop_sheet *of, size_t row, size_t detail, struct vmop_value *ret)
{
	const struct vmop_task_times_sheet *sheet = of->data;
	(void)detail;
	for (size_t c = 0; c < of->n_columns; c++)
		value(sheet->times, &sheet->times->items[row], of->columns[c].id, &ret[c]);
}

/* ---- the sheet ---------------------------------------------------------------------------- */

static void set_lines(struct vmop_task_times_sheet *sheet)
{
	const struct vmop_task_times *times = sheet->times;
	const char *event = vmop_result_event(&times->result, times->event)->label;
	snprintf(sheet->lines[0], sizeof(sheet->lines[0]),
		 "Time of guests' tasks: estimates, with their 95 %% intervals");
	snprintf(sheet->lines[1], sizeof(sheet->lines[1]),
		 "The running time of each interval (%.4g s at most) is divided by samples of "
		 "%.60s%s",
		 (double)times->longest_ns / 1e9, event, times->has_exits ? ", without exits" : "");
	sheet->sheet.n_lines = 2;
	if (!times->has_exits)
		snprintf(sheet->lines[sheet->sheet.n_lines++], sizeof(sheet->lines[0]),
			 "Exits were not counted: the tasks' times have the hypervisor's work for "
			 "them too");
	for (size_t i = 0; i < sheet->sheet.n_lines; i++)
		sheet->line_list[i] = sheet->lines[i];
	sheet->sheet.lines = sheet->line_list;
}

struct vmop_error *vmop_task_times_sheet_create(const struct vmop_task_times *times,
						struct vmop_task_times_sheet **ret)
{
	struct vmop_task_times_sheet *sheet = calloc(1, sizeof(*sheet));
	*ret = sheet;
	if (!sheet)
		return &vmop_error_no_memory;
	sheet->times = times;
	set_lines(sheet);
	sheet->sheet.columns = columns;
	sheet->sheet.n_columns = N_OF(columns);
	sheet->sheet.n_rows = times->n;
	sheet->sheet.values = values;
	sheet->sheet.data = sheet;
	return NULL;
}

void vmop_task_times_sheet_destroy(struct vmop_task_times_sheet *sheet)
{
	free(sheet);
}

const struct vmop_sheet *vmop_task_times_sheet_of(const struct vmop_task_times_sheet *sheet)
{
	return &sheet->sheet;
}
