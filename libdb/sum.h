// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sums of cells over chunks: a table of sums by key, each with its cells in a hash table by offset.
 * The memory is proportional to the distinct (key, offset) pairs, not to samples or intervals.
 */
#ifndef VMOP_LIBDB_SUM_H
#define VMOP_LIBDB_SUM_H

#include "libdb/hash.h"
#include "libdb/pack.h"
#include <stddef.h>
#include <stdint.h>

#include "vmop/ids.h"

/* The key of a sum, without padding. place is a number that the caller chooses for a place. */
struct vmop_sum_key {
	uint32_t place;
	struct vmop_task_row_id task;
};
_Static_assert(sizeof(struct vmop_sum_key) == 8, "padding would be hashed, too");

struct vmop_sum {
	struct vmop_sum_key key;
	uint64_t samples, weight_events; /* of vmop_sum_add_total */
	struct vmop_db_cell *slots;	 /* samples 0: free */
	size_t n_cells, capacity;	 /* capacity: a power of two */
	uint64_t multiplier;		 /* of the hash table */
	unsigned shift;
	uint32_t waiting; /* 1 + index of its latest waiting blob; 0: none */
	UT_hash_handle hh;
};

/* A blob that is not added yet: see vmop_sums_add_packed. */
struct vmop_waiting {
	uint32_t before; /* 1 + index of the previous blob of the same sum; 0: none */
	uint32_t len_bytes;
	size_t at; /* in vmop_sums.blobs */
};

struct vmop_sums {
	struct vmop_sum *all;  /* uthash */
	struct vmop_sum *last; /* the latest look-up */
	struct vmop_waiting *waiting;
	uint8_t *blobs;
	size_t n_waiting, waiting_capacity, blobs_bytes, blobs_capacity;
	size_t bytes, max_bytes; /* of the sums and their cells; max 0: no bound */
};

void vmop_sums_deinit(struct vmop_sums *sums); /* a zeroed one is empty */

/* Return the sum of key, or add it. NULL: out of memory, or above max_bytes. */
struct vmop_sum *vmop_sums_at(struct vmop_sums *sums, const struct vmop_sum_key *key);

/*
 * Add packed cells without a bound; cells with stacks are summed over those.  A sum beyond 64 bits
 * becomes the greatest number.
 */
enum vmop_unpack_error vmop_sum_add_packed(struct vmop_sum *sum, const void *blob,
					   size_t len_bytes);

/*
 * Add packed cells, at the latest when vmop_sums_add_waiting returns.  Up to
 * VMOP_SUMS_WAITING_BYTES of blobs wait for others of their sum.  All tables together are larger
 * than a processor's cache, so adding many blobs to one table before the next is several times
 * faster.  VMOP_UNPACK_LIMIT: the sums need more than max_bytes.
 */
#define VMOP_SUMS_WAITING_BYTES ((size_t)4 << 20)
enum vmop_unpack_error vmop_sums_add_packed(struct vmop_sums *sums, struct vmop_sum *sum,
					    const void *blob, size_t len_bytes);
enum vmop_unpack_error vmop_sums_add_waiting(struct vmop_sums *sums);

/* Add cells to a sum. */
enum vmop_unpack_error vmop_sums_add_cells(struct vmop_sums *sums, struct vmop_sum *sum,
					   const struct vmop_db_cell *cells, size_t n);

/* Add to the sum's totals. */
void vmop_sum_add_total(struct vmop_sum *sum, uint64_t samples, uint64_t weight_events);

/*
 * Sort the sum's cells by offset, and return the n_cells of them, which the sum owns.  They replace
 * the hash table: nothing may be added afterwards.
 */
const struct vmop_db_cell *vmop_sum_sort(struct vmop_sum *sum);

#endif
