// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Packed chunks that are put together by key: all are kept packed, two bytes a cell or so, and
 * only those of one key are unpacked at a time. For rolling up, where nothing else is to be known
 * of them before the last one is there.
 */
#ifndef VMOP_LIBDB_PILE_H
#define VMOP_LIBDB_PILE_H

#include "libdb/connection.h"
#include "libdb/sum.h"

struct vmop_piled {
	struct vmop_sum_key key;
	uint32_t len_bytes;
	size_t at; /* in vmop_pile.bytes */
};

struct vmop_pile {
	struct vmop_piled *all;
	uint8_t *bytes;
	size_t n, capacity, n_bytes, bytes_capacity;
};

void vmop_pile_deinit(struct vmop_pile *pile); /* a zeroed one is empty */

/* Copies a blob of packed cells. False: out of memory. */
bool vmop_pile_add(struct vmop_pile *pile, const struct vmop_sum_key *key, const void *blob,
		   size_t len_bytes);

/*
 * Calls each for every key, ascending, with the cells of all its blobs, added up by offset; what
 * exceeds 64 bits stays at the greatest number. They hold until each returns. db is for errors.
 */
struct vmop_error *
vmop_pile_each(struct vmop_pile *pile, struct vmop_db *db,
	       struct vmop_error *(*each)(void *arg, const struct vmop_sum_key *key,
					  const struct vmop_db_cell *cells, size_t n),
	       void *arg);

#endif
