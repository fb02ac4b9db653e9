// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The aggregate: the current interval's samples, summed by (key, offset).  Adding never allocates:
 * the tables have a fixed size between flushes, and a reset enlarges them if the load needs it.
 */
#ifndef VMOP_DAEMON_PROFILE_AGGREGATE_H
#define VMOP_DAEMON_PROFILE_AGGREGATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/profile/sample-key.h"
#include "libdb/db.h"

/* Bounds: the tables take at most 16 Mi + 4 Mi bytes; with call stacks 16 Mi + 20 Mi. */
#define VMOP_AGGREGATE_CELLS_MAX (512 * 1024)
#define VMOP_AGGREGATE_KEYS_MAX (64 * 1024)
#define VMOP_AGGREGATE_STACK_KEYS_MAX (256 * 1024)

struct vmop_aggregate_cell {
	uint64_t offset;
	uint64_t weight_events;
	uint32_t key;	  /* index in keys */
	uint32_t samples; /* 0: moved to another cell */
};

/* A hash table with open addressing.  A slot contains an index + 1; 0: free. */
struct vmop_aggregate_index {
	uint32_t *slots;
	uint32_t mask;
};

/*
 * A sample that is not in its cell yet.  A table with many cells is larger than a processor's near
 * caches, and a look-up waits for memory.  So samples are collected, and the slots of all of them
 * are fetched at once.  On a machine that forks, with four events, this saves a tenth of vmopd's
 * time.
 */
#define VMOP_AGGREGATE_PENDING_MAX 16
struct vmop_aggregate_pending {
	uint64_t offset;
	uint64_t weight_events;
	uint32_t key;
	uint32_t samples;
	uint32_t slot; /* at which the search begins */
};

/* Recent keys, hashed by the fields in which the present tasks of a few CPUs differ. */
#define VMOP_AGGREGATE_RECENT 64

struct vmop_aggregate {
	struct vmop_sample_key *keys;
	struct vmop_aggregate_cell *cells;
	uint32_t n_keys, max_keys, n_cells, max_cells;
	uint32_t keys_bound, cells_bound; /* of max_keys and max_cells */
	struct vmop_aggregate_index key_index, cell_index;
	uint32_t recent[VMOP_AGGREGATE_RECENT]; /* indexes of keys + 1; 0: free */
	struct vmop_aggregate_pending pending[VMOP_AGGREGATE_PENDING_MAX];
	uint32_t n_pending;
};

/*
 * Create tables with room for n_cells cells at first, and for at most keys_bound keys.  They never
 * grow beyond max_bytes; 0: no such limit.  False: out of memory; deinit is needed, too.
 */
bool vmop_aggregate_init(struct vmop_aggregate *aggregate, uint32_t n_cells, uint32_t keys_bound,
			 uint64_t max_bytes);
void vmop_aggregate_deinit(struct vmop_aggregate *aggregate);

/* Add samples.  False: there is no room, and nothing was added.  On the per-sample path. */
bool vmop_aggregate_add(struct vmop_aggregate *aggregate, const struct vmop_sample_key *key,
			uint64_t offset, uint32_t samples, uint64_t weight_events);

/* Give back the memory of empty tables beyond n_cells cells. Does nothing unless they are empty. */
void vmop_aggregate_shrink(struct vmop_aggregate *aggregate, uint32_t n_cells);

/* Move pending samples to their cells.  Call it before reading cells. */
void vmop_aggregate_apply_pending(struct vmop_aggregate *aggregate);

/* Move the samples of cell i to another key and offset.  False: no room, and they stay. */
bool vmop_aggregate_move(struct vmop_aggregate *aggregate, uint32_t i,
			 const struct vmop_sample_key *key, uint64_t offset);

/* Return the number of samples since the last reset. */
uint64_t vmop_aggregate_samples(struct vmop_aggregate *aggregate);

/* Return whether cells or keys are more than three quarters full. */
bool vmop_aggregate_is_nearly_full(const struct vmop_aggregate *aggregate);

/*
 * Call `rename` for each key, which may change its image and task.  Then call `each` for each key
 * with its cells, sorted by offset; keys that are equal after renaming are merged.  If there is no
 * room for a renamed key, `each` gets the original.  Keys that differ only in their stack follow
 * one another, in the order of their stacks.  Returns the first error of `each`.
 */
struct vmop_error *
vmop_aggregate_each(struct vmop_aggregate *aggregate,
		    void (*rename)(void *arg, struct vmop_sample_key *key),
		    struct vmop_error *(*each)(void *arg, const struct vmop_sample_key *key,
					       const struct vmop_db_cell *cells, size_t n),
		    void *arg);

/* Return the order of two keys without their stacks: 0 if only these differ, if anything. */
int vmop_aggregate_compare_places(const struct vmop_sample_key *a, const struct vmop_sample_key *b);

/* Remove all samples.  Doubles the tables if more than half of them was in use. */
void vmop_aggregate_reset(struct vmop_aggregate *aggregate);

#endif
