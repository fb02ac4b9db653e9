// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A selection: the intervals and places that a reader's filter lets pass.  They are determined
 * once, so that a chunk is checked by two look-ups.
 */
#ifndef VMOP_LIBDB_FILTER_H
#define VMOP_LIBDB_FILTER_H

#include "libdb/connection.h"
#include "libdb/place.h"

struct vmop_selected_range {
	uint32_t first, last; /* ids */
};

struct vmop_selection {
	struct vmop_place *places;  /* all places of the file */
	bool *place_passes;	    /* by place */
	bool *place_may_be_omitted; /* by place: the interval decides */
	size_t n_places;
	struct vmop_db_interval *intervals; /* those that pass, and summaries; ascending by id */
	size_t n_intervals;
	/* Ranges of intervals between which there is nothing to read, or only what summaries have.
	 */
	struct vmop_selected_range *ranges;
	size_t n_ranges;
	const struct vmop_db_filter *filter;
	struct vmop_db *db;
	bool holds_snapshot;
};

/*
 * Determine what filter selects; NULL selects everything.  filter must outlive the selection, and
 * its lists are sorted in place.  Begins a snapshot that ends with deinit, unless the reader has
 * one: init and each_row read the file at one moment.
 *
 * may_sum: summaries (summary.h) take the place of intervals that they cover.
 */
struct vmop_error *vmop_selection_init(struct vmop_selection *selection, struct vmop_db *db,
				       const struct vmop_db_filter *filter, bool may_sum);
void vmop_selection_deinit(struct vmop_selection *selection);

/*
 * Call `each` for the chunks that pass, interval by interval.  The row is valid until the callback
 * returns.  The callback must neither write nor walk over chunks, for a statement is running.
 */
struct vmop_chunk_row {
	size_t interval, place; /* indices into the selection's */
	struct vmop_task_row_id task;
	bool has_stacks; /* stacks/cells.h packed the cells, otherwise pack.h */
	uint64_t samples, weight_events;
	const void *cells; /* NULL without with_cells */
	size_t cells_len_bytes;
};
struct vmop_error *
vmop_selection_each_row(const struct vmop_selection *selection, bool with_cells,
			struct vmop_error *(*each)(void *arg, const struct vmop_chunk_row *row),
			void *arg);

#endif
