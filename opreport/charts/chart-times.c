// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/charts/chart-times.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "opreport/charts/row-label.h"
#include "opreport/charts/time-grid.h"

#define GOOD_SERIES 8
#define SERIES_MAX 20

/* Rows that differ in their time only. */
struct over_time {
	struct vmop_row_label label;
	struct vmop_row *row; /* the first one */
	struct vmop_count count;
	size_t index; /* in the tally */
};

struct sum {
	struct vmop_row_label label;
	uint64_t weight;
	uint64_t samples;
	size_t place; /* in the picture; SIZE_MAX: in the rest */
};

struct filling {
	struct vmop_report_chart *chart;
	struct vmop_tally tally; /* finds the rows that differ in their time only */
	struct over_time *lines; /* n_lines */
	size_t n_lines, lines_capacity;
	size_t *line_of_row; /* index in the tally; VMOP_TALLY_LEFT_OUT: in the rest */
	size_t *sum_of_line; /* by index in the tally */
	struct sum *sums;    /* n_sums */
	size_t n_sums, n_shown;
	struct vmop_time_grid grid;
	double *values; /* n_shown + 1 lines of steps */
};

static int compare_names(const void *a, const void *b)
{
	const struct over_time *x = a, *y = b;
	int order = vmop_row_label_compare(&x->label, &y->label);
	return order ? order : (x->index > y->index) - (x->index < y->index);
}

static int compare_sums(const void *a, const void *b)
{
	const struct sum *const *x = a, *const *y = b;
	if ((*x)->weight != (*y)->weight)
		return (*x)->weight > (*y)->weight ? -1 : 1;
	return (*x > *y) - (*x < *y);
}

/* Find the line of a row, and add its counts there. */
static struct vmop_error *add_to_line(struct filling *filling, size_t i)
{
	struct vmop_result *result = filling->chart->result;
	struct vmop_row *row = &result->rows[i];
	struct vmop_group group = *row->group;
	struct vmop_count *counts;
	uint32_t number;
	group.time = 0;
	struct vmop_error *err = vmop_groups_intern(&result->groups, &group, &number);
	if (!err)
		err = vmop_tally_at(&filling->tally, number, (uintptr_t)row->symbol, &counts,
				    &filling->line_of_row[i]);
	if (err || filling->line_of_row[i] == VMOP_TALLY_LEFT_OUT)
		return err;
	size_t index = filling->line_of_row[i];
	if (index == filling->n_lines) {
		if (!vmop_array_reserve(filling->lines, filling->lines_capacity, index + 1))
			return &vmop_error_no_memory;
		filling->lines[filling->n_lines++] = (struct over_time){.row = row, .index = index};
	}
	struct vmop_count count = vmop_report_chart_count(filling->chart, row);
	vmop_count_add(&filling->lines[index].count, count.samples, count.weight_events);
	return NULL;
}

static struct vmop_error *add_lines(struct filling *filling)
{
	struct vmop_result *result = filling->chart->result;
	struct vmop_error *err = NULL;
	vmop_tally_init(&filling->tally, 1);
	filling->line_of_row = calloc(result->n_rows + 1, sizeof(*filling->line_of_row));
	if (!filling->line_of_row)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < result->n_rows && !err; i++)
		err = add_to_line(filling, i);
	filling->sum_of_line = calloc(filling->n_lines + 1, sizeof(*filling->sum_of_line));
	filling->sums = calloc(filling->n_lines + 1, sizeof(*filling->sums));
	return err || (filling->sum_of_line && filling->sums) ? err : &vmop_error_no_memory;
}

/* Name the lines, and sum those with equal names. */
static struct vmop_error *name_lines(struct filling *filling)
{
	struct vmop_report_chart *chart = filling->chart;
	unsigned dimensions = chart->dimensions & ~(unsigned)VMOP_BY_TIME;
	struct vmop_error *err = add_lines(filling);
	for (size_t i = 0; i < filling->n_lines && !err; i++)
		err = vmop_row_label(chart->result, filling->lines[i].row, dimensions,
				     chart->with_pids, &chart->arena, &filling->lines[i].label);
	if (err)
		return err;
	qsort(filling->lines, filling->n_lines, sizeof(*filling->lines), compare_names);
	for (size_t i = 0; i < filling->n_lines; i++) {
		const struct over_time *line = &filling->lines[i];
		if (!i || vmop_row_label_compare(&line->label, &line[-1].label) != 0)
			filling->sums[filling->n_sums++].label = line->label;
		struct sum *sum = &filling->sums[filling->n_sums - 1];
		sum->weight += line->count.weight_events;
		sum->samples += line->count.samples;
		filling->sum_of_line[line->index] = filling->n_sums - 1;
	}
	return NULL;
}

/* Give the largest series their places. */
static struct vmop_error *place_sums(struct filling *filling)
{
	size_t n_max = filling->chart->top ? filling->chart->top : GOOD_SERIES;
	_cleanup_free_ const struct sum **order = calloc(filling->n_sums + 1, sizeof(*order));
	if (!order)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < filling->n_sums; i++) {
		order[i] = &filling->sums[i];
		filling->sums[i].place = SIZE_MAX;
	}
	qsort(order, filling->n_sums, sizeof(*order), compare_sums);
	for (size_t i = 0; i < filling->n_sums && i < n_max && i < SERIES_MAX - 1; i++)
		filling->sums[order[i] - filling->sums].place = filling->n_shown++;
	return NULL;
}

static void add_row(struct filling *filling, const struct vmop_row *row, size_t line)
{
	const struct vmop_result *result = filling->chart->result;
	size_t slot = row->group->time;
	if (!slot)
		return;
	struct vmop_count count = vmop_report_chart_count(filling->chart, row);
	bool is_heat = filling->chart->chart.kind == VMOP_CHART_HEAT;
	double *values = filling->values + line * filling->grid.n_steps;
	vmop_time_grid_spread(&filling->grid, &result->times.items[slot - 1],
			      is_heat ? (double)count.samples : (double)count.weight_events,
			      values);
}

static struct vmop_error *add_rows(struct filling *filling)
{
	const struct vmop_result *result = filling->chart->result;
	size_t n_values = (filling->n_shown + 1) * filling->grid.n_steps;
	filling->values = calloc(n_values, sizeof(*filling->values));
	if (!filling->values)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < result->n_rows; i++) {
		size_t line = filling->line_of_row[i], place = SIZE_MAX;
		if (line != VMOP_TALLY_LEFT_OUT)
			place = filling->sums[filling->sum_of_line[line]].place;
		add_row(filling, &result->rows[i], place == SIZE_MAX ? filling->n_shown : place);
	}
	return NULL;
}

/* Set the name of a series: with its domain or image, where the chart is by function. */
static struct vmop_error *name_series(struct vmop_report_chart *made, const struct sum *sum,
				      const char **ret)
{
	*ret = sum->label.name;
	if (!sum->label.detail)
		return NULL;
	return vmop_report_chart_text(made, ret, "%s (%s)", sum->label.name, sum->label.detail);
}

static struct vmop_error *fill_series(struct filling *filling)
{
	struct vmop_report_chart *made = filling->chart;
	struct vmop_chart *chart = &made->chart;
	bool has_rest = filling->n_sums > filling->n_shown || filling->tally.left_out;
	chart->n_series = filling->n_shown + has_rest;
	struct vmop_chart_series *series =
		vmop_arena_alloc(&made->arena, (chart->n_series + 1) * sizeof(*series));
	if (!series)
		return &vmop_error_no_memory;
	struct vmop_error *err = NULL;
	for (size_t i = 0; i < filling->n_sums && !err; i++) {
		const struct sum *sum = &filling->sums[i];
		if (sum->place == SIZE_MAX)
			continue;
		series[sum->place].samples = sum->samples;
		err = name_series(made, sum, &series[sum->place].label);
	}
	if (has_rest)
		series[filling->n_shown] = (struct vmop_chart_series){"all others", 0, true};
	chart->series = series;
	return err;
}

static struct vmop_error *fill_values(struct filling *filling)
{
	struct vmop_report_chart *made = filling->chart;
	struct vmop_chart *chart = &made->chart;
	const struct vmop_time_grid *grid = &filling->grid;
	struct vmop_chart_value *values =
		vmop_arena_alloc(&made->arena, chart->n_series * grid->n_steps * sizeof(*values));
	if (!values)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < chart->n_series * grid->n_steps; i++) {
		size_t step = i % grid->n_steps;
		values[i].is_absent = !(grid->covered_ns[step] > 0);
		values[i].is_coarse = grid->is_coarse[step];
		values[i].value = filling->values[i];
		if (chart->kind == VMOP_CHART_HEAT && !values[i].is_absent)
			values[i].value /= grid->covered_ns[step] / (double)VMOP_NS_PER_S;
	}
	chart->values = values;
	chart->time = (struct vmop_chart_time){
		.start_ns = grid->start_ns,
		.origin_ns = grid->origin_ns,
		.step_ns = grid->step_ns,
		.n_steps = grid->n_steps,
		.steps_per_column = grid->steps_per_column,
	};
	return NULL;
}

static struct vmop_error *fill_texts(struct filling *filling)
{
	struct vmop_report_chart *made = filling->chart;
	struct vmop_chart *chart = &made->chart;
	unsigned dimensions = made->dimensions & ~(unsigned)VMOP_BY_TIME;
	struct vmop_error *err;
	if (chart->kind == VMOP_CHART_HEAT) {
		chart->unit = "samples a second";
		err = vmop_report_chart_text(made, &chart->title, "Samples of each moment");
	} else {
		err = vmop_report_chart_text(made, &chart->unit, "%% of %s in each step",
					     chart->event);
	}
	if (!err && chart->kind == VMOP_CHART_TIMELINE)
		err = vmop_report_chart_text(made, &chart->title, "%s over time",
					     vmop_row_label_plural(dimensions));
	const char *note = vmop_time_grid_note(&filling->grid);
	return err || !note ? err : vmop_report_chart_note(made, "%s", note);
}

struct vmop_error *vmop_chart_times_fill(struct vmop_report_chart *chart)
{
	struct filling filling = {.chart = chart};
	const struct vmop_result *result = chart->result;
	bool is_heat = chart->chart.kind == VMOP_CHART_HEAT;
	struct vmop_error *err =
		vmop_time_grid_init(&filling.grid, &result->times, result->catalog.start_ns,
				    result->choice.from_ns, result->choice.to_ns, is_heat);
	if (!err)
		err = name_lines(&filling);
	if (!err)
		err = place_sums(&filling);
	if (!err)
		err = add_rows(&filling);
	if (!err)
		err = fill_series(&filling);
	if (!err)
		err = fill_values(&filling);
	if (!err)
		err = fill_texts(&filling);
	vmop_time_grid_deinit(&filling.grid);
	vmop_tally_deinit(&filling.tally);
	free(filling.lines);
	free(filling.line_of_row);
	free(filling.sum_of_line);
	free(filling.sums);
	free(filling.values);
	return err;
}
