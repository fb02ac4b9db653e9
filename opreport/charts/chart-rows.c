// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/charts/chart-rows.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "opreport/charts/row-label.h"

/* Rows beyond are summed in the rest without a look at their names. */
#define ROWS_MAX 20000

#define GOOD_CATEGORIES 20
#define GOOD_SERIES 12

/* A row with its category. */
struct named_row {
	struct vmop_row_label label;
	const struct vmop_row *row;
	size_t category; /* index in the order of the names, then of the picture */
};

/* A category or a series while they are sorted. */
struct sum {
	struct vmop_row_label label;
	uint64_t weight;
	uint64_t samples;
	uint8_t modes;
	size_t place; /* in the picture; SIZE_MAX: in the rest */
	bool is_host;
};

struct filling {
	struct vmop_report_chart *chart;
	struct named_row *rows; /* n_rows */
	size_t n_rows;
	struct sum *categories; /* n_categories */
	size_t n_categories;
	struct sum *series;	   /* by index of the domain, or by part */
	size_t n_series;	   /* also those without samples */
	bool has_parts;		   /* the series are parts of the bill */
	size_t n_shown[2];	   /* of categories and series, without the rest */
	struct vmop_count *counts; /* of the picture: series * categories */
	size_t columns;		   /* categories of the picture, with the rest */
};

static int compare_names(const void *a, const void *b)
{
	const struct named_row *x = a, *y = b;
	int order = vmop_row_label_compare(&x->label, &y->label);
	return order ? order : (x->row > y->row) - (x->row < y->row);
}

/* Compare by weight, from the largest down; the host is the first series. */
static int compare_sums(const void *a, const void *b)
{
	const struct sum *const *x = a, *const *y = b;
	if ((*x)->is_host != (*y)->is_host)
		return (*x)->is_host ? -1 : 1;
	if ((*x)->weight != (*y)->weight)
		return (*x)->weight > (*y)->weight ? -1 : 1;
	return (*x > *y) - (*x < *y);
}

/* Name the rows, and give those with equal names one category. */
static struct vmop_error *name_rows(struct filling *filling)
{
	struct vmop_report_chart *chart = filling->chart;
	struct vmop_result *result = chart->result;
	unsigned dimensions = chart->dimensions & ~(unsigned)VMOP_BY_TIME;
	struct vmop_error *err = NULL;
	if (!filling->has_parts && dimensions & ~(unsigned)VMOP_BY_DOMAIN)
		dimensions &= ~(unsigned)VMOP_BY_DOMAIN;
	filling->n_rows = result->n_rows < ROWS_MAX ? result->n_rows : ROWS_MAX;
	filling->rows = calloc(filling->n_rows + 1, sizeof(*filling->rows));
	filling->categories = calloc(filling->n_rows + 1, sizeof(*filling->categories));
	if (!filling->rows || !filling->categories)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < filling->n_rows && !err; i++) {
		filling->rows[i].row = &result->rows[i];
		err = vmop_row_label(result, &result->rows[i], dimensions, chart->with_pids,
				     &chart->arena, &filling->rows[i].label);
	}
	if (err)
		return err;
	qsort(filling->rows, filling->n_rows, sizeof(*filling->rows), compare_names);
	for (size_t i = 0; i < filling->n_rows; i++) {
		struct named_row *row = &filling->rows[i];
		if (!i || vmop_row_label_compare(&row->label, &row[-1].label) != 0)
			filling->categories[filling->n_categories++].label = row->label;
		row->category = filling->n_categories - 1;
		struct sum *category = &filling->categories[row->category];
		category->weight += vmop_report_chart_count(chart, row->row).weight_events;
		category->modes |= row->row->modes;
	}
	return NULL;
}

static size_t domain_of(const struct vmop_row *row)
{
	size_t domain = row->group->domain;
	return domain ? domain - 1 : 0;
}

/* Make the series: the domains, or the parts of a bill. */
static struct vmop_error *make_series(struct filling *filling)
{
	static const char *const parts[VMOP_N_PARTS] = {"user", "kernel", "hypervisor", "VMM",
							"other"};
	const struct vmop_result *result = filling->chart->result;
	bool by_domain = filling->chart->dimensions & VMOP_BY_DOMAIN;
	filling->n_series = filling->has_parts ? VMOP_N_PARTS
			    : by_domain	       ? result->catalog.domains.n
					       : 1;
	filling->series = calloc(filling->n_series, sizeof(*filling->series));
	if (!filling->series)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < filling->n_series; i++) {
		const struct vmop_domain_item *domain = vmop_catalog_domain(&result->catalog, i);
		filling->series[i].label.name = filling->has_parts ? parts[i]
						: by_domain	   ? domain->name
								   : "all domains";
		filling->series[i].is_host = !filling->has_parts && by_domain && domain->is_host;
	}
	for (size_t i = 0; i < result->n_rows; i++) {
		const struct vmop_row *row = &result->rows[i];
		for (size_t part = 0; part < result->n_parts; part++) {
			size_t at = filling->has_parts ? part : domain_of(row);
			filling->series[at].weight += row->counts[part].weight_events;
			filling->series[at].samples += row->counts[part].samples;
		}
	}
	return NULL;
}

/*
 * Give the largest of n sums their places, at most n_max without the rest, and set *ret_n to how
 * many have one.  Sums without samples have none.
 */
static struct vmop_error *place(struct sum *sums, size_t n, size_t n_max, size_t *ret_n)
{
	_cleanup_free_ const struct sum **order = calloc(n + 1, sizeof(*order));
	if (!order)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < n; i++) {
		order[i] = &sums[i];
		sums[i].place = SIZE_MAX;
	}
	qsort(order, n, sizeof(*order), compare_sums);
	*ret_n = 0;
	for (size_t i = 0; i < n && *ret_n < n_max; i++) {
		if (order[i]->weight)
			sums[order[i] - sums].place = (*ret_n)++;
	}
	return NULL;
}

/* Return how many series get a place. A rest of one would take as much room as its name. */
static size_t max_series(const struct filling *filling)
{
	size_t n = 0;
	for (size_t i = 0; i < filling->n_series; i++)
		n += filling->series[i].weight != 0;
	return n <= GOOD_SERIES ? GOOD_SERIES : GOOD_SERIES - 1;
}

/* Add a row's counts to the picture's. */
static void add_row(struct filling *filling, const struct vmop_row *row, size_t column)
{
	const struct vmop_result *result = filling->chart->result;
	for (size_t part = 0; part < result->n_parts; part++) {
		size_t series = filling->has_parts ? part : domain_of(row);
		size_t line = filling->series[series].place;
		if (line == SIZE_MAX)
			line = filling->n_shown[1];
		vmop_count_add(&filling->counts[line * filling->columns + column],
			       row->counts[part].samples, row->counts[part].weight_events);
	}
}

static struct vmop_error *add_counts(struct filling *filling)
{
	const struct vmop_result *result = filling->chart->result;
	filling->columns = filling->n_shown[0] + 1;
	filling->counts =
		calloc(filling->columns * (filling->n_shown[1] + 1), sizeof(*filling->counts));
	if (!filling->counts)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < filling->n_rows; i++) {
		size_t column = filling->categories[filling->rows[i].category].place;
		if (column == SIZE_MAX)
			column = filling->n_shown[0];
		add_row(filling, filling->rows[i].row, column);
	}
	for (size_t i = filling->n_rows; i < result->n_rows; i++)
		add_row(filling, &result->rows[i], filling->n_shown[0]);
	return NULL;
}

/* Return whether the rest of the categories, or of the series, has samples. */
static bool has_rest(const struct filling *filling, bool of_series)
{
	size_t lines = filling->n_shown[1] + 1;
	uint64_t weight = 0;
	for (size_t line = 0; line < lines; line++) {
		for (size_t column = 0; column < filling->columns; column++) {
			bool is_rest =
				of_series ? line + 1 == lines : column + 1 == filling->columns;
			if (is_rest)
				weight += filling->counts[line * filling->columns + column]
						  .weight_events;
		}
	}
	return weight > 0;
}

static void copy_values(struct filling *filling, struct vmop_chart_value *values)
{
	const struct vmop_chart *chart = &filling->chart->chart;
	struct vmop_count base = filling->chart->result->base[0];
	for (size_t line = 0; line < chart->n_series; line++) {
		for (size_t column = 0; column < chart->n_categories; column++) {
			struct vmop_count count = filling->counts[line * filling->columns + column];
			struct vmop_chart_value *value =
				&values[line * chart->n_categories + column];
			value->is_absent = !count.samples;
			value->value = chart->kind == VMOP_CHART_BARS
					       ? vmop_share_percent(count, base)
					       : (double)count.samples;
		}
	}
}

/* Fill in the chart's arrays, the rest last. */
static struct vmop_error *fill_chart(struct filling *filling)
{
	struct vmop_report_chart *made = filling->chart;
	struct vmop_chart *chart = &made->chart;
	chart->n_categories = filling->n_shown[0] + has_rest(filling, false);
	chart->n_series = filling->n_shown[1] + has_rest(filling, true);
	size_t n_values = chart->n_categories * chart->n_series;
	struct vmop_chart_category *categories =
		vmop_arena_alloc(&made->arena, chart->n_categories * sizeof(*categories));
	struct vmop_chart_series *series =
		vmop_arena_alloc(&made->arena, chart->n_series * sizeof(*series));
	struct vmop_chart_value *values =
		vmop_arena_alloc(&made->arena, n_values * sizeof(*values));
	if (!categories || !series || !values)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < filling->n_categories; i++) {
		const struct sum *sum = &filling->categories[i];
		if (sum->place != SIZE_MAX)
			categories[sum->place] = (struct vmop_chart_category){
				sum->label.name, sum->label.detail, sum->modes, false};
	}
	for (size_t i = 0; i < filling->n_series; i++) {
		const struct sum *sum = &filling->series[i];
		if (sum->place != SIZE_MAX)
			series[sum->place] =
				(struct vmop_chart_series){sum->label.name, sum->samples, false};
	}
	if (chart->n_categories > filling->n_shown[0])
		categories[filling->n_shown[0]] =
			(struct vmop_chart_category){"all others", NULL, 0, true};
	if (chart->n_series > filling->n_shown[1])
		series[filling->n_shown[1]] = (struct vmop_chart_series){"all others", 0, true};
	chart->categories = categories;
	chart->series = series;
	chart->values = values;
	copy_values(filling, values);
	return NULL;
}

static struct vmop_error *fill_texts(struct filling *filling)
{
	struct vmop_report_chart *made = filling->chart;
	struct vmop_chart *chart = &made->chart;
	const char *by = filling->has_parts		     ? " by what ran for them"
			 : made->dimensions & VMOP_BY_DOMAIN ? " by domain"
							     : "";
	unsigned dimensions = made->dimensions;
	struct vmop_error *err = vmop_report_chart_text(made, &chart->title, "%s%s",
							vmop_row_label_plural(dimensions), by);
	if (err || chart->kind == VMOP_CHART_BUBBLES) {
		chart->unit = "samples";
		return err;
	}
	return vmop_report_chart_text(made, &chart->unit, "%% of %s", chart->event);
}

struct vmop_error *vmop_chart_rows_fill(struct vmop_report_chart *chart)
{
	struct filling filling = {.chart = chart, .has_parts = chart->result->n_parts > 1};
	size_t n_max = chart->top ? chart->top : GOOD_CATEGORIES;
	if (n_max > VMOP_CHART_CATEGORIES_MAX - 1)
		n_max = VMOP_CHART_CATEGORIES_MAX - 1;
	struct vmop_error *err = name_rows(&filling);
	if (!err)
		err = make_series(&filling);
	if (!err)
		err = place(filling.categories, filling.n_categories, n_max, &filling.n_shown[0]);
	if (!err)
		err = place(filling.series, filling.n_series, max_series(&filling),
			    &filling.n_shown[1]);
	if (!err)
		err = add_counts(&filling);
	if (!err)
		err = fill_chart(&filling);
	if (!err)
		err = fill_texts(&filling);
	free(filling.rows);
	free(filling.categories);
	free(filling.series);
	free(filling.counts);
	return err;
}
