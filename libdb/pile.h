// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A pile: packed chunks that are merged by key.  All stay packed, at about two bytes a cell, and
 * only the chunks of one key are unpacked at a time.  A roll-up uses it, for it needs the sums only
 * after the last chunk.
 */
#ifndef VMOP_LIBDB_PILE_H
#define VMOP_LIBDB_PILE_H

#include "libdb/connection.h"
#include "libdb/sum.h"

struct vmop_piled {
	struct vmop_sum_key key;
	bool has_stacks;
	uint32_t len_bytes;
	size_t at; /* in vmop_pile.bytes */
};

struct vmop_pile {
	struct vmop_piled *all;
	uint8_t *bytes;
	size_t n, capacity, n_bytes, bytes_capacity;
};

void vmop_pile_deinit(struct vmop_pile *pile); /* a zeroed one is empty */

/* Add a copy of a blob of packed cells, with or without stacks. False: out of memory. */
bool vmop_pile_add(struct vmop_pile *pile, const struct vmop_sum_key *key, const void *blob,
		   size_t len_bytes);

/* The cells of a key's blobs, summed by offset or by stack and offset; one of the two is NULL. */
struct vmop_pile_sum {
	struct vmop_sum_key key;
	const struct vmop_db_cell *cells;
	const struct vmop_db_stack_cell *stack_cells;
	size_t n;
};

/*
 * Call `each` for every key, ascending, first for its blobs without stacks and then for those with
 * stacks.  A sum beyond 64 bits becomes the greatest number.  The cells are valid until `each`
 * returns.  VMOP_ERROR_LIMIT: the cells of one key have stacks, and take more than max_bytes (0: no
 * bound).  Errors name db.
 */
struct vmop_error *
vmop_pile_each(struct vmop_pile *pile, struct vmop_db *db, size_t max_bytes,
	       struct vmop_error *(*each)(void *arg, const struct vmop_pile_sum *sum), void *arg);

/* Insert the sums as the chunks of an interval or a summary, as part of the open transaction. */
struct vmop_error *vmop_pile_store(struct vmop_pile *pile, struct vmop_db *db, uint32_t interval);

#endif
