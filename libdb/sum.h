// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Cells added up over chunks: a table of sums, each with its cells in a hash
 * table by offset.  Memory is that of the distinct (key, offset) pairs,
 * however many samples or intervals they come from.
 */
#ifndef VMOP_LIBDB_SUM_H
#define VMOP_LIBDB_SUM_H

#include "libdb/hash.h"
#include "libdb/pack.h"
#include <stddef.h>
#include <stdint.h>

/* What tells sums apart. place is the caller's number for one. No padding: hashed as bytes. */
struct vmop_sum_key {
	uint32_t place, task, stack;
};
_Static_assert(sizeof(struct vmop_sum_key) == 12, "hashed as bytes");

struct vmop_sum {
	struct vmop_sum_key key;
	uint64_t samples, weight_events; /* for who adds totals alone */
	struct vmop_db_cell *slots;	 /* samples 0: free */
	size_t n_cells, capacity;	 /* capacity: a power of two */
	uint64_t multiplier;		 /* of the hash table */
	unsigned shift;
	uint32_t waiting; /* 1 + index of its latest blob that waits; 0: none */
	UT_hash_handle hh;
};

/* A blob that waits for others of its sum. */
struct vmop_waiting {
	uint32_t before; /* 1 + index of the one before of the same sum; 0: none */
	uint32_t len_bytes;
	size_t at; /* in vmop_sums.blobs */
};

struct vmop_sums {
	struct vmop_sum *all;  /* uthash */
	struct vmop_sum *last; /* looked up last */
	struct vmop_waiting *waiting;
	uint8_t *blobs;
	size_t n_waiting, waiting_capacity, blobs_bytes;
	size_t bytes, max_bytes; /* of the sums and their cells; max 0: no bound */
};

void vmop_sums_deinit(struct vmop_sums *sums); /* a zeroed one is empty */

/* The sum of key, made where there is none. NULL: out of memory, or beyond max_bytes. */
struct vmop_sum *vmop_sums_at(struct vmop_sums *sums, const struct vmop_sum_key *key);

/* Adds without a bound; what exceeds 64 bits stays at the greatest number. */
enum vmop_unpack_error vmop_sum_add_packed(struct vmop_sum *sum, const void *blob,
					   size_t len_bytes);

/*
 * The same, at the latest when vmop_sums_add_waiting returns: blobs wait for others of their sum,
 * so many bytes of them in all.  Adding many to one sum after another is several times faster than
 * to and fro between tables that together are larger than a processor's cache. VMOP_UNPACK_LIMIT:
 * it takes more than max_bytes.
 */
#define VMOP_SUMS_WAITING_BYTES ((size_t)4 << 20)
enum vmop_unpack_error vmop_sums_add_packed(struct vmop_sums *sums, struct vmop_sum *sum,
					    const void *blob, size_t len_bytes);
enum vmop_unpack_error vmop_sums_add_waiting(struct vmop_sums *sums);

void vmop_sum_add_total(struct vmop_sum *sum, uint64_t samples, uint64_t weight_events);

/*
 * Ends adding to it: its cells, ascending, n_cells of them, in place of the hash table.
 * They are the sum's.
 */
const struct vmop_db_cell *vmop_sum_sort(struct vmop_sum *sum);

#endif
