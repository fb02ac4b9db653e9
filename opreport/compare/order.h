// SPDX-License-Identifier: GPL-2.0-or-later
/* Sort the rows of a comparison for one event, and sum up the ones after the first. */
#ifndef VMOP_OPREPORT_COMPARE_ORDER_H
#define VMOP_OPREPORT_COMPARE_ORDER_H

#include <stdbool.h>

#include "opreport/compare/comparison.h"

enum vmop_compare_sort {
	VMOP_COMPARE_BY_DIFFERENCE, /* the largest first, either way; noise after all others */
	VMOP_COMPARE_BY_RATIO,	    /* the farthest from 1 first; noise after all others */
	VMOP_COMPARE_BY_COUNT,	    /* the most expensive first, in whichever side it is */
	VMOP_COMPARE_BY_IMAGE,
	VMOP_COMPARE_BY_SYMBOL,
	VMOP_N_COMPARE_SORTS,
};

/* The words of --sort, by enum vmop_compare_sort. */
extern const char *const vmop_compare_sort_words[];

/* Parse a word.  VMOP_ERROR_USAGE lists the words. */
struct vmop_error *vmop_compare_sort_parse(const char *word, enum vmop_compare_sort *ret);

struct vmop_ordering {
	enum vmop_compare_sort sort;
	bool reverse;
	uint64_t top; /* rows at most; 0: all */
};

/* The rows of one event, for two sides or, with `other` 0, for all of them together. */
struct vmop_order {
	size_t event, other;
	uint32_t *rows; /* n: indices of the comparison's rows */
	size_t n;
	/* The rows after the first `top`: see vmop_comparison_counts; NULL: no such row. */
	struct vmop_count *rest;
	size_t n_rest;
};

/*
 * Order the rows that have samples of the event, in side 0 or in `other`; with `other` 0, in any
 * side, and by the other side with the largest difference or ratio.  The caller deinitialises ret
 * also after an error.
 */
struct vmop_error *vmop_order_init(struct vmop_order *ret, const struct vmop_comparison *comparison,
				   size_t event, size_t other,
				   const struct vmop_ordering *ordering);
void vmop_order_deinit(struct vmop_order *order);

#endif
