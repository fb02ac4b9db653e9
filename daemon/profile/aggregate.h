// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The current interval's samples, summed by (key, offset).  Adding allocates
 * nothing: the tables have a fixed size between flushes, and grow to fit the
 * load when they are emptied.
 */
#ifndef VMOP_DAEMON_PROFILE_AGGREGATE_H
#define VMOP_DAEMON_PROFILE_AGGREGATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/profile/sample-key.h"
#include "libdb/db.h"

/* Bounds: 16 Mi + 4 Mi bytes of tables at the most. */
#define VMOP_AGGREGATE_CELLS_MAX (512 * 1024)
#define VMOP_AGGREGATE_KEYS_MAX (64 * 1024)

struct vmop_aggregate_cell {
	uint64_t offset;
	uint64_t weight_events;
	uint32_t key;	  /* index */
	uint32_t samples; /* 0: moved elsewhere */
};

/* An open-addressing table of indexes + 1; 0: free. */
struct vmop_aggregate_index {
	uint32_t *slots;
	uint32_t mask;
};

/*
 * One on its way to its cell.  The table of a load that hits many places is larger than a
 * processor's near caches, so that a look-up waits for memory; of some that come together
 * the slots are fetched at the same time. With four events of a machine that forks that took
 * vmopd's time down by a tenth.
 */
#define VMOP_AGGREGATE_PENDING_MAX 16
struct vmop_aggregate_pending {
	uint64_t offset;
	uint64_t weight_events;
	uint32_t key;
	uint32_t samples;
	uint32_t slot; /* where the search begins */
};

/* Keys that were looked up last, by what differs between a few CPUs' present tasks. */
#define VMOP_AGGREGATE_RECENT 64

struct vmop_aggregate {
	struct vmop_sample_key *keys;
	struct vmop_aggregate_cell *cells;
	uint32_t n_keys, max_keys, n_cells, max_cells;
	struct vmop_aggregate_index key_index, cell_index;
	uint32_t recent[VMOP_AGGREGATE_RECENT]; /* indexes of keys + 1; 0: free */
	struct vmop_aggregate_pending pending[VMOP_AGGREGATE_PENDING_MAX];
	uint32_t n_pending;
};

/* n_cells: a first guess. False: out of memory. */
bool vmop_aggregate_init(struct vmop_aggregate *aggregate, uint32_t n_cells);
void vmop_aggregate_deinit(struct vmop_aggregate *aggregate);

/* False: there is no room, nothing was added. */
bool vmop_aggregate_add(struct vmop_aggregate *aggregate, const struct vmop_sample_key *key,
			uint64_t offset, uint32_t samples, uint64_t weight_events);

/* What was added is in cells from then on: for who looks at them. */
void vmop_aggregate_apply_pending(struct vmop_aggregate *aggregate);

/* Moves what cell i has to another key and offset; false: no room, it stays. */
bool vmop_aggregate_move(struct vmop_aggregate *aggregate, uint32_t i,
			 const struct vmop_sample_key *key, uint64_t offset);

/* All that were added. */
uint64_t vmop_aggregate_samples(struct vmop_aggregate *aggregate);

/* Three quarters full. */
bool vmop_aggregate_is_nearly_full(const struct vmop_aggregate *aggregate);

/*
 * Calls each for every key with its cells, sorted by offset, merged where keys
 * are the same after `rename` (which may change the image) was called on them.
 * Stops at the first error.
 */
struct vmop_error *
vmop_aggregate_each(struct vmop_aggregate *aggregate,
		    void (*rename)(void *arg, struct vmop_sample_key *key),
		    struct vmop_error *(*each)(void *arg, const struct vmop_sample_key *key,
					       const struct vmop_db_cell *cells, size_t n),
		    void *arg);

/* Forgets all; has more room from now on if more than a half was in use. */
void vmop_aggregate_reset(struct vmop_aggregate *aggregate);

#endif
