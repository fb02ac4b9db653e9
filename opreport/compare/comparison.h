// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Comparison: the results of two or more queries, joined row by row by names.
 *
 * Callers: vmopreport with specs in braces, and vmopcompare.  Data meets the files of this folder
 * in this order: braces      takes the specs of "{ A } { B }" out of a command line side runs the
 * query of each side per         parses --per, and divides the counts of a row by it estimate the
 * intervals of numbers, differences and ratios routine     the names by which rows are joined
 *   comparison  joins the rows and the events of the sides
 *   order       sorts them, and sums up those after the first ones
 *   difference  estimates a row for two sides
 *   comparison-sheet  makes sheets of it, for people and for programs
 *
 * The first side is what the others are compared with.
 */
#ifndef VMOP_OPREPORT_COMPARE_COMPARISON_H
#define VMOP_OPREPORT_COMPARE_COMPARISON_H

#include <stddef.h>

#include "libutil/error.h"
#include "opreport/compare/per.h"
#include "opreport/compare/side.h"
#include "opreport/query/arena.h"

/* The names of a row, in the order in which rows are sorted by name. */
enum vmop_compared_name {
	VMOP_COMPARED_DOMAIN,
	VMOP_COMPARED_CGROUP,
	VMOP_COMPARED_TASK,
	VMOP_COMPARED_IMAGE,
	VMOP_COMPARED_SYMBOL,
	VMOP_N_COMPARED_NAMES,
};

/* Dimensions of a query (enum vmop_dimension) that rows of a comparison can have. */
#define VMOP_COMPARED_DIMENSIONS                                                                   \
	(VMOP_BY_DOMAIN | VMOP_BY_CGROUP | VMOP_BY_TASK | VMOP_BY_IMAGE | VMOP_BY_SYMBOL)

struct vmop_compared_row {
	const char *names[VMOP_N_COMPARED_NAMES]; /* NULL: not a dimension */
	size_t counts;				  /* number of the row in the counts */
	uint8_t modes; /* bits 1 << enum vmop_mode of its samples, in all sides */
};

/* An event of at least two sides, one of them the first. */
struct vmop_compared_event {
	const char *label, *unit;
	size_t slots[VMOP_SIDES_MAX]; /* in each side's result; SIZE_MAX: it lacks the event */
	size_t work[VMOP_SIDES_MAX];  /* likewise of the event of --per */
};

struct vmop_comparison {
	struct vmop_arena arena;
	struct vmop_side *sides; /* n_sides, not owned; must outlive the comparison */
	size_t n_sides;
	struct vmop_per per;
	bool has_domains; /* rows of several domains stay apart */
	struct vmop_compared_event *events;
	size_t n_events;
	struct vmop_compared_row *rows;
	size_t n_rows;
	/* By row, event and side: see vmop_comparison_counts. */
	struct vmop_count *counts;
};

/*
 * Join the results of sides that ran queries with the same dimensions.  by has the dimensions that
 * the user named: with VMOP_BY_DOMAIN, the rows of two domains stay apart.  Without, they do if a
 * side has several domains and shares one of them with the first side.  per is copied.
 *
 * VMOP_ERROR_NOT_FOUND: the sides share no event, or no row of their events has the same name.
 * VMOP_ERROR_USAGE: --per needs an event that a side lacks, or other numbers.  The caller
 * deinitialises ret also after an error.
 */
struct vmop_error *vmop_comparison_init(struct vmop_comparison *ret, struct vmop_side *sides,
					size_t n_sides, unsigned by, const struct vmop_per *per);
void vmop_comparison_deinit(struct vmop_comparison *comparison);

/* Return the counts of a row's event, by side. */
static inline const struct vmop_count *vmop_comparison_counts(const struct vmop_comparison *of,
							      const struct vmop_compared_row *row,
							      size_t event)
{
	return of->counts + (row->counts * of->n_events + event) * of->n_sides;
}

/* Return all selected samples of the event in a side. */
struct vmop_count vmop_comparison_all(const struct vmop_comparison *comparison, size_t event,
				      size_t side);

#endif
