// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Select and sort the rows of a result that a report shows.
 */
#ifndef VMOP_OPREPORT_ARRANGE_ROWS_H
#define VMOP_OPREPORT_ARRANGE_ROWS_H

#include "opreport/query/query.h"
#include "opreport/query/ratio.h"
#include "opreport/query/spec.h"

enum vmop_sort {
	VMOP_SORT_SAMPLE, /* descending by weight of the first event, then of the next */
	VMOP_SORT_SESSION,
	VMOP_SORT_DOMAIN,
	VMOP_SORT_IMAGE,
	VMOP_SORT_SYMBOL,
	VMOP_SORT_TASK,
	VMOP_SORT_PID,
	VMOP_SORT_CGROUP,
	VMOP_SORT_CPU,
	VMOP_SORT_VCPU,
	VMOP_SORT_MODE,
	VMOP_SORT_VMA,
	VMOP_N_WORDS,			/* words of --sort are above */
	VMOP_SORT_NAMED = VMOP_N_WORDS, /* a ratio or an event, by name */
};

/* The VMOP_N_WORDS words of --sort, by enum vmop_sort. */
extern const char *const vmop_sort_words[];

enum { VMOP_MAX_SORT_KEYS = 16 };

struct vmop_arrangement {
	enum vmop_sort sort[VMOP_MAX_SORT_KEYS]; /* n_sort; if 0, by sample */
	const char *names[VMOP_MAX_SORT_KEYS];	 /* of keys that are NAMED */
	size_t n_sort;
	bool reverse;
	bool unsorted;		  /* leave the rows in any order, and show all that match */
	double threshold_percent; /* hides rows with less of every event */
	uint64_t top;		  /* shows at most so many rows; 0: all */
	uint64_t max_lines;	  /* bound of rows and details together; 0: none */
	const struct vmop_words *include_symbols,
		*exclude_symbols; /* globs; NULL or empty: no condition */
};

/* Rows that threshold, top or max_lines hide. */
struct vmop_hidden {
	size_t n_rows;
	size_t n_rows_beyond;	   /* hidden by max_lines; part of n_rows */
	struct vmop_count *counts; /* n_events; the caller frees it */
};

/*
 * Sort result->rows and drop the hidden ones.  Rows with an imprecise ratio come last, also in
 * reverse order.  No remaining row is VMOP_ERROR_NOT_FOUND; a name that is neither a ratio nor an
 * event is VMOP_ERROR_USAGE.
 */
struct vmop_error *vmop_rows_arrange(struct vmop_result *result, const struct vmop_ratios *ratios,
				     const struct vmop_arrangement *arrangement,
				     struct vmop_hidden *ret_hidden);

/*
 * Return whether --include-symbols and --exclude-symbols let a symbol pass; shown is its name in
 * the report, symbol may be NULL.
 */
bool vmop_symbol_is_included(const struct vmop_arrangement *arrangement, const char *shown,
			     const struct vmop_symbol *symbol);

/* Return the percentage of part in whole, by weight; 0 if whole is 0. */
double vmop_share_percent(struct vmop_count part, struct vmop_count whole);

#endif
