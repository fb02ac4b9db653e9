// SPDX-License-Identifier: GPL-2.0-or-later
/* Read the values of a report's columns from one row of the result. */
#include "opreport/arrange/report-open.h"
#include "opreport/query/idle.h"

/* Return the one mode of a row's samples, or "mixed".  modes: bits 1 << enum vmop_mode. */
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

static struct vmop_value text_value(const char *text)
{
	return (struct vmop_value){.text = text};
}

static struct vmop_value number_value(uint64_t number, bool is_known)
{
	return (struct vmop_value){.number = number, .is_empty = !is_known};
}

static bool has_address(const struct vmop_row *row)
{
	return row->symbol && row->symbol != &vmop_idle_symbol &&
	       row->symbol->type != VMOP_SYMBOL_INLINED;
}

static struct vmop_value task_value(const struct vmop_task_item *task, int id)
{
	bool has_task = task->id.number != 0;
	switch (id) {
	case COLUMN_PID:
		return number_value(task->pid, has_task && !task->is_merged);
	case COLUMN_TID:
		return number_value(task->tid, task->tid != 0);
	case COLUMN_PROCESSES:
		return number_value(task->n_processes, has_task);
	default:
		return text_value(task->comm);
	}
}

/* Return what identifies the row in the column of that id, which is below N_NAME_COLUMNS. */
static struct vmop_value name_value(const struct vmop_report *report, struct vmop_row *row, int id)
{
	struct vmop_result *result = report->result;
	const struct vmop_group *group = row->group;
	switch (id) {
	case COLUMN_ADDRESS:
		return number_value(row->address, has_address(row));
	case COLUMN_SESSION:
		return text_value(vmop_row_session(result, row));
	case COLUMN_DOMAIN:
		return text_value(vmop_row_domain(result, row)->name);
	case COLUMN_LIFE:
		return text_value(vmop_row_domain(result, row)->life_name);
	case COLUMN_MODE:
		return text_value(mode_name(row->modes));
	case COLUMN_CERTAINTY:
		return text_value(certainty_name(row));
	case COLUMN_CPU:
		return number_value(group->cpu - 2, vmop_group_has_cpu(group));
	case COLUMN_VCPU:
		return number_value(group->vcpu - 2, vmop_group_has_vcpu(group));
	case COLUMN_CGROUP:
		return text_value(vmop_row_cgroup(result, row));
	case COLUMN_IMAGE:
		return text_value(image_name(report, row));
	case COLUMN_SYMBOL:
		return text_value(vmop_result_symbol_name(result, row));
	default:
		return task_value(vmop_row_task(result, row), id);
	}
}

/* Return the same of a detail: its row identifies it, except for its address. */
static struct vmop_value detail_value(const struct vmop_detail *detail, int id)
{
	return id == COLUMN_ADDRESS ? number_value(detail->address, true)
				    : (struct vmop_value){.is_empty = true};
}

/* Sum counts, which are a row's or a detail's, by event. */
static void read_counts(const struct vmop_report *report, const struct vmop_row *row,
			const struct vmop_count *counts)
{
	const struct vmop_result *result = report->result;
	const struct vmop_row_counts *ret = &report->row_counts;
	bool is_of_row = counts != row->counts && !report->options.global_percent;
	for (size_t e = 0; e < result->n_events; e++) {
		ret->events[e] = vmop_result_sum(result, counts, e);
		ret->bases[e] =
			is_of_row ? vmop_result_sum(result, row->counts, e) : result->base[e];
	}
	for (size_t i = 0; i < report->ratios->n; i++)
		ret->ratios[i] = vmop_ratio_of(&report->ratios->items[i], result, counts);
}

/* Return the count that the column shows a number of. */
static struct vmop_count column_count(const struct vmop_report *report, size_t row_number,
				      const struct vmop_count *counts,
				      const struct vmop_column *column)
{
	const struct vmop_result *result = report->result;
	if (column->id >= COLUMN_TOTAL_SAMPLES && column->id <= COLUMN_TOTAL_PERCENT)
		return result->rows[row_number].below[column->event];
	if (column->id >= COLUMN_PART_SAMPLES) {
		size_t part = (size_t)(column->id - COLUMN_PART_SAMPLES) % VMOP_N_PARTS;
		return counts[column->event * result->n_parts + part];
	}
	if (column->id == COLUMN_SUM_SAMPLES || column->id == COLUMN_SUM_PERCENT)
		return report->sums[row_number * result->n_events + column->event];
	return report->row_counts.events[column->event];
}

static bool is_weight(int id)
{
	return id == COLUMN_WEIGHT || id == COLUMN_TOTAL_WEIGHT ||
	       (id >= COLUMN_PART_WEIGHT && id < COLUMN_PART_PERCENT);
}

static struct vmop_value count_value(const struct vmop_report *report, struct vmop_count count,
				     const struct vmop_column *column)
{
	struct vmop_count base = report->row_counts.bases[column->event];
	if (column->type == VMOP_VALUE_PERCENT)
		return (struct vmop_value){.percent = vmop_share_percent(count, base)};
	return number_value(is_weight(column->id) ? count.weight_events : count.samples, true);
}

static struct vmop_value ratio_value(const struct vmop_report *report,
				     const struct vmop_column *column)
{
	static const char marks[] = {[VMOP_RATIO_NONE] = VMOP_MARK_UNKNOWN,
				     [VMOP_RATIO_BELOW] = VMOP_MARK_BELOW,
				     [VMOP_RATIO_ROUGH] = VMOP_MARK_ROUGH,
				     [VMOP_RATIO_CLOSE] = VMOP_MARK_NONE};
	const struct vmop_ratio_value *ratio = &report->row_counts.ratios[column->event];
	if (column->id == COLUMN_RATIO)
		return (struct vmop_value){
			.mark = marks[ratio->quality],
			.ratio = ratio->quality == VMOP_RATIO_BELOW ? ratio->high : ratio->value};
	return (struct vmop_value){.mark = ratio->has_interval ? VMOP_MARK_NONE : VMOP_MARK_UNKNOWN,
				   .ratio = column->id == COLUMN_RATIO_LOW ? ratio->low
									   : ratio->high};
}

static bool is_ratio(int id)
{
	return id >= COLUMN_RATIO && id <= COLUMN_RATIO_HIGH;
}

/* Running sums and parts are shown for rows only. */
static bool is_in_details(int id)
{
	return id <= COLUMN_PERCENT || is_ratio(id);
}

/* Return a row that is read soon. */
static const struct vmop_row *row_ahead(const struct vmop_result *result, size_t row_number)
{
	const size_t ahead = 8;
	return &result->rows[row_number + ahead < result->n_rows ? row_number + ahead : row_number];
}

void vmop_report_values(const struct vmop_sheet *sheet, size_t row_number, size_t detail_number,
			struct vmop_value *ret)
{
	const struct vmop_report *report = sheet->data;
	struct vmop_row *row = &report->result->rows[row_number];
	const struct vmop_detail *detail =
		detail_number == VMOP_NO_DETAIL
			? NULL
			: &report->result->details[row->first_detail + detail_number];
	const struct vmop_count *counts = detail ? detail->counts : row->counts;
	/* Counts, names and symbols are not in the order of the rows. */
	const struct vmop_row *ahead = row_ahead(report->result, row_number);
	__builtin_prefetch(ahead->counts);
	__builtin_prefetch(ahead->name);
	if (ahead->symbol)
		__builtin_prefetch(&ahead->symbol->type);
	read_counts(report, row, counts);
	for (size_t c = 0; c < sheet->n_columns; c++) {
		const struct vmop_column *column = &sheet->columns[c];
		if (column->id < N_NAME_COLUMNS)
			ret[c] = detail ? detail_value(detail, column->id)
					: name_value(report, row, column->id);
		else if (detail && !is_in_details(column->id))
			ret[c].is_empty = true;
		else if (is_ratio(column->id))
			ret[c] = ratio_value(report, column);
		else
			ret[c] = count_value(
				report, column_count(report, row_number, counts, column), column);
	}
}

struct vmop_error *vmop_report_prepare_values(struct vmop_report *report)
{
	struct vmop_row_counts *counts = &report->row_counts;
	size_t n_events = report->result->n_events, n_ratios = report->ratios->n;
	counts->events = vmop_arena_alloc(&report->arena, n_events * sizeof(*counts->events));
	counts->bases = vmop_arena_alloc(&report->arena, n_events * sizeof(*counts->bases));
	counts->ratios = vmop_arena_alloc(&report->arena, n_ratios * sizeof(*counts->ratios));
	return counts->events && counts->bases && counts->ratios ? NULL : &vmop_error_no_memory;
}
