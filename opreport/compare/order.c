// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/compare/order.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "opreport/compare/difference.h"
#include "opreport/options/option-word.h"

const char *const vmop_compare_sort_words[] = {
	[VMOP_COMPARE_BY_DIFFERENCE] = "difference", [VMOP_COMPARE_BY_RATIO] = "ratio",
	[VMOP_COMPARE_BY_COUNT] = "count",	     [VMOP_COMPARE_BY_IMAGE] = "image",
	[VMOP_COMPARE_BY_SYMBOL] = "symbol",
};

struct vmop_error *vmop_compare_sort_parse(const char *word, enum vmop_compare_sort *ret)
{
	struct vmop_option_word words[VMOP_N_COMPARE_SORTS + 1] = {0};
	unsigned value = 0;
	for (unsigned i = 0; i < VMOP_N_COMPARE_SORTS; i++)
		words[i] = (struct vmop_option_word){vmop_compare_sort_words[i], i};
	struct vmop_error *err = vmop_option_word_parse(words, "--sort", word, &value);
	*ret = value;
	return err;
}

/* A row with its sort keys. */
struct ranked {
	uint32_t row;
	bool is_noise;
	double rank; /* descending */
	double size; /* of equal ranks: the largest estimate of all sides */
};

struct ranking {
	const struct vmop_comparison *comparison;
	const struct vmop_ordering *ordering;
};

static double rank_of(enum vmop_compare_sort sort, const struct vmop_difference *difference)
{
	switch (sort) {
	case VMOP_COMPARE_BY_DIFFERENCE:
		return fabs(difference->difference.value);
	case VMOP_COMPARE_BY_RATIO: /* infinite for new and vanished rows */
		return difference->ratio.is_known ? fabs(log(difference->ratio.value)) : 0;
	default:
		return 0;
	}
}

static void add_rank(struct ranked *ranked, const struct vmop_comparison *comparison,
		     const struct vmop_count *counts, size_t event, size_t other,
		     enum vmop_compare_sort sort)
{
	struct vmop_difference difference = vmop_difference_of(comparison, counts, event, other);
	bool is_noise = difference.change == VMOP_CHANGE_NOISE;
	double rank = rank_of(sort, &difference);
	ranked->size = fmax(ranked->size, fmax(difference.before.value, difference.after.value));
	if (is_noise == ranked->is_noise ? rank > ranked->rank : !is_noise)
		ranked->rank = rank;
	ranked->is_noise = ranked->is_noise && is_noise;
}

static bool rank(const struct ranking *ranking, const struct vmop_order *order, uint32_t row,
		 struct ranked *ret)
{
	const struct vmop_comparison *comparison = ranking->comparison;
	const struct vmop_count *counts =
		vmop_comparison_counts(comparison, &comparison->rows[row], order->event);
	size_t first = order->other ? order->other : 1;
	size_t last = order->other ? order->other : comparison->n_sides - 1;
	bool has_samples = counts[0].samples;
	*ret = (struct ranked){.row = row, .is_noise = true};
	for (size_t other = first; other <= last; other++) {
		has_samples = has_samples || counts[other].samples;
		add_rank(ret, comparison, counts, order->event, other, ranking->ordering->sort);
	}
	return has_samples;
}

static int compare_doubles(double a, double b)
{
	return (a > b) - (a < b);
}

static int compare_name(const struct vmop_compared_row *a, const struct vmop_compared_row *b,
			enum vmop_compared_name name)
{
	return a->names[name] && b->names[name] ? strcmp(a->names[name], b->names[name]) : 0;
}

static int compare_ranked(const void *a, const void *b, void *arg)
{
	const struct ranking *ranking = arg;
	const struct vmop_ordering *ordering = ranking->ordering;
	const struct ranked *x = a, *y = b;
	const struct vmop_compared_row *rows = ranking->comparison->rows;
	enum vmop_compare_sort sort = ordering->sort;
	bool by_image = sort == VMOP_COMPARE_BY_IMAGE, by_symbol = sort == VMOP_COMPARE_BY_SYMBOL;
	bool by_change = sort == VMOP_COMPARE_BY_DIFFERENCE || sort == VMOP_COMPARE_BY_RATIO;
	int order = 0;
	if (by_change && x->is_noise != y->is_noise)
		return x->is_noise ? 1 : -1; /* also in reverse order */
	if (by_image || by_symbol)
		order = compare_name(&rows[x->row], &rows[y->row],
				     by_image ? VMOP_COMPARED_IMAGE : VMOP_COMPARED_SYMBOL);
	if (!order)
		order = compare_doubles(y->rank, x->rank);
	if (!order)
		order = compare_doubles(y->size, x->size);
	if (!order) /* rows are in the order of their names */
		order = (x->row > y->row) - (x->row < y->row);
	return ordering->reverse ? -order : order;
}

/* Sum up the rows after the first n. */
static struct vmop_error *sum_rest(struct vmop_order *order,
				   const struct vmop_comparison *comparison, size_t n)
{
	order->rest = calloc(comparison->n_sides, sizeof(*order->rest));
	if (!order->rest)
		return &vmop_error_no_memory;
	for (size_t i = n; i < order->n; i++) {
		const struct vmop_count *counts = vmop_comparison_counts(
			comparison, &comparison->rows[order->rows[i]], order->event);
		for (size_t s = 0; s < comparison->n_sides; s++)
			vmop_count_add(&order->rest[s], counts[s].samples, counts[s].weight_events);
	}
	order->n_rest = order->n - n;
	order->n = n;
	return NULL;
}

struct vmop_error *vmop_order_init(struct vmop_order *ret, const struct vmop_comparison *comparison,
				   size_t event, size_t other, const struct vmop_ordering *ordering)
{
	const struct ranking ranking = {comparison, ordering};
	*ret = (struct vmop_order){.event = event, .other = other};
	_cleanup_free_ struct ranked *ranked = calloc(comparison->n_rows + 1, sizeof(*ranked));
	ret->rows = calloc(comparison->n_rows + 1, sizeof(*ret->rows));
	if (!ranked || !ret->rows)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < comparison->n_rows; i++)
		ret->n += rank(&ranking, ret, (uint32_t)i, &ranked[ret->n]);
	qsort_r(ranked, ret->n, sizeof(*ranked), compare_ranked, (void *)&ranking);
	for (size_t i = 0; i < ret->n; i++)
		ret->rows[i] = ranked[i].row;
	if (ordering->top && ordering->top < ret->n)
		return sum_rest(ret, comparison, ordering->top);
	return NULL;
}

void vmop_order_deinit(struct vmop_order *order)
{
	free(order->rows);
	free(order->rest);
	*order = (struct vmop_order){0};
}
