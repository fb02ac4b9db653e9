// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Collects the cells of keys that differ only in their stack, which the session file stores as one
 * chunk.
 */
#ifndef VMOP_DAEMON_PROFILE_STACKED_CHUNK_H
#define VMOP_DAEMON_PROFILE_STACKED_CHUNK_H

#include <stddef.h>

#include "daemon/profile/sample-key.h"
#include "libdb/db.h"
#include "libutil/error.h"

/* Zeroed: empty. */
struct vmop_stacked_chunk {
	struct vmop_sample_key first; /* the key of the first cells */
	struct vmop_db_chunk_key key; /* the same, in the file's terms */
	struct vmop_db_stack_cell *cells;
	size_t n, capacity;
};

void vmop_stacked_chunk_deinit(struct vmop_stacked_chunk *chunk);

/*
 * Add the n cells of a key, in the order of vmop_aggregate_each. row is the key in the file's
 * terms. A chunk of other keys is put into db first.
 */
struct vmop_error *vmop_stacked_chunk_add(struct vmop_stacked_chunk *chunk, struct vmop_db *db,
					  const struct vmop_sample_key *key,
					  const struct vmop_db_chunk_key *row,
					  const struct vmop_db_cell *cells, size_t n);

/* Put the collected cells into db, if there are any. */
struct vmop_error *vmop_stacked_chunk_put(struct vmop_stacked_chunk *chunk, struct vmop_db *db);

#endif
