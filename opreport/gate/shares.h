// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Shares: counts by names, of one side of a gate.  Unlike a query's result they outlive the
 * sessions and can be summed over several queries, or read from a report in JSON.
 *
 * Names are the ones that a comparison joins rows by: an image's base name, a function without its
 * compiler's suffixes, a command.  Names that are not UTF-8 are escaped, as JSON has them.
 */
#ifndef VMOP_OPREPORT_GATE_SHARES_H
#define VMOP_OPREPORT_GATE_SHARES_H

#include <stdbool.h>
#include <stddef.h>

#include "libutil/error.h"
#include "opreport/compare/comparison.h"
#include "opreport/query/arena.h"
#include "opreport/query/query.h"

/* Rows of one side; those of a report are bounded as well. */
#define VMOP_SHARES_ROWS_MAX ((size_t)2 << 20)

struct vmop_shares_event {
	const char *name, *unit;
	const char *asked; /* the name as the user wrote it, "" where it is the same */
	uint64_t period_events, frequency_hz;
	struct vmop_count all; /* selected samples */
};

struct vmop_shares_row {
	const char *names[VMOP_N_COMPARED_NAMES]; /* NULL: not a dimension */
	struct vmop_count *counts;		  /* n_events */
};

struct vmop_shares {
	struct vmop_arena arena;
	unsigned dimensions; /* bits of VMOP_COMPARED_DIMENSIONS; the domain is always one */
	struct vmop_shares_event *events;
	size_t n_events;
	struct vmop_shares_row *rows; /* sorted by names, and no two have the same */
	size_t n_rows, capacity;
};

/* Initialise shares without rows, of the events of a result. */
struct vmop_error *vmop_shares_init(struct vmop_shares *ret, struct vmop_result *result,
				    unsigned dimensions);

/* Initialise shares without samples, of the same events as others. */
struct vmop_error *vmop_shares_init_like(struct vmop_shares *ret, const struct vmop_shares *like);
void vmop_shares_deinit(struct vmop_shares *shares);

/*
 * Return the index of the event that is called so and has that unit, or else that was asked for so;
 * SIZE_MAX: none.
 */
size_t vmop_shares_find_event(const struct vmop_shares *shares, const char *name, const char *unit,
			      const char *asked);

/*
 * Append a row with zeroed counts.  Names that are no dimension are dropped, and the others are
 * copied; a missing one is "".  VMOP_ERROR_LIMIT: too many rows.
 */
struct vmop_error *vmop_shares_add(struct vmop_shares *shares,
				   const char *const names[VMOP_N_COMPARED_NAMES],
				   struct vmop_shares_row **ret);

/* Add the rows and totals of a result.  Events that the shares lack are not added. */
struct vmop_error *vmop_shares_add_result(struct vmop_shares *shares, struct vmop_result *result);

/* Sort the rows and sum those of the same names: after the last row was added. */
void vmop_shares_merge(struct vmop_shares *shares);

/* Compare the names of two rows as vmop_shares_merge sorts them. */
int vmop_shares_compare(const struct vmop_shares_row *a, const struct vmop_shares_row *b);

/* Return "symbol:crc32c image:libz.so domain:host"; the caller frees it.  NULL: no memory. */
char *vmop_shares_name(const struct vmop_shares_row *row);

#endif
