// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Which rows of a result are shown, in which order, with which shares.
 */
#ifndef VMOP_OPREPORT_ARRANGE_ROWS_H
#define VMOP_OPREPORT_ARRANGE_ROWS_H

#include "opreport/query/query.h"
#include "opreport/query/ratio.h"
#include "opreport/query/spec.h"

enum vmop_sort {
	VMOP_SORT_SAMPLE, /* most first: by weight of the first event, then of the next */
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
	VMOP_N_WORDS,			/* the ones above have a word for --sort */
	VMOP_SORT_NAMED = VMOP_N_WORDS, /* by what one row's name says: a ratio or an event */
};

/* The words for --sort, by enum vmop_sort; VMOP_N_WORDS of them. */
extern const char *const vmop_sort_words[];

enum { VMOP_MAX_SORT_KEYS = 16 };

struct vmop_arrangement {
	enum vmop_sort sort[VMOP_MAX_SORT_KEYS]; /* n_sort; none: by sample */
	const char *names[VMOP_MAX_SORT_KEYS];	 /* of those that are NAMED */
	size_t n_sort;
	bool reverse;
	double threshold_percent; /* rows with less of every event are hidden */
	uint64_t top;		  /* at most so many rows; 0: all */
	uint64_t max_lines;	  /* rows and details: more would be too much; 0: all */
	const struct vmop_words *include_symbols, *exclude_symbols; /* globs; NULL or empty: all */
};

/* Rows that threshold, top or max_lines hide. */
struct vmop_hidden {
	size_t n_rows;
	size_t n_rows_beyond;	   /* among them: max_lines' */
	struct vmop_count *counts; /* n_events; the caller's to free */
};

/*
 * Reorders and cuts result->rows.  By ratio: most first, then those of which too little is known,
 * also in reverse.  No row left is VMOP_ERROR_NOT_FOUND; a name that is
 * neither a ratio's nor an event's VMOP_ERROR_USAGE.
 */
struct vmop_error *vmop_rows_arrange(struct vmop_result *result, const struct vmop_ratios *ratios,
				     const struct vmop_arrangement *arrangement,
				     struct vmop_hidden *ret_hidden);

/* 0 where whole is 0. */
double vmop_share_percent(struct vmop_count part, struct vmop_count whole);

#endif
