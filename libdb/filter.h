// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A reader's filter, made ready: which intervals and places it lets through is
 * worked out once, so that a row is judged by two look-ups.
 */
#ifndef VMOP_LIBDB_FILTER_H
#define VMOP_LIBDB_FILTER_H

#include "libdb/connection.h"
#include "libdb/place.h"

struct vmop_selection {
	struct vmop_place *places;  /* all of the file */
	bool *place_passes;	    /* beside each of them */
	bool *place_may_be_omitted; /* likewise: the interval decides */
	size_t n_places;
	struct vmop_db_interval *intervals; /* those that pass, ascending by id */
	size_t n_intervals;
	const struct vmop_db_filter *filter;
	struct vmop_db *db;
	bool holds_snapshot;
};

/*
 * What init reads and what each_row reads is one moment of the file: a snapshot is held until
 * deinit, where the reader has none of its own.  filter may be NULL: everything. It is kept; its
 * lists are sorted in place. */
struct vmop_error *vmop_selection_init(struct vmop_selection *selection, struct vmop_db *db,
				       const struct vmop_db_filter *filter);
void vmop_selection_deinit(struct vmop_selection *selection);

/*
 * A walk over the chunks that pass, interval by interval.  The row holds until the callback
 * returns; the callback must neither write nor walk over chunks: the db is in the middle of a
 * statement.
 */
struct vmop_chunk_row {
	size_t interval, place; /* indices into the selection's */
	uint32_t task, stack;
	uint64_t samples, weight_events;
	const void *cells; /* NULL where not asked for */
	size_t cells_len_bytes;
};
struct vmop_error *
vmop_selection_each_row(const struct vmop_selection *selection, bool with_cells,
			struct vmop_error *(*each)(void *arg, const struct vmop_chunk_row *row),
			void *arg);

#endif
