// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The unwind tables of one guest's files that the sampling thread has: of fixed number, and bounded
 * in memory. The table that was not used for the longest time makes room.
 */
#ifndef VMOP_DAEMON_GUEST_STACKS_TABLE_CACHE_H
#define VMOP_DAEMON_GUEST_STACKS_TABLE_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/guest/stacks/file-tables.h"

#define VMOP_GUEST_TABLE_CACHE_FILES 512
/* All tables together; at least VMOP_GUEST_TABLE_MAX_BYTES. */
#define VMOP_GUEST_TABLE_CACHE_BYTES ((size_t)128 << 20)

struct vmop_guest_table_slot {
	struct vmop_guest_code_key key;
	enum vmop_code_state state;
	struct vmop_cfi_table *table;
	size_t table_bytes;
	uint64_t used;	       /* a number that rises with each use */
	uint64_t requested_ns; /* CLOCK_MONOTONIC; the last time */
	uint8_t n_requested;   /* times; at most 255 */
	bool is_asked;	       /* no answer has come to that request */
	bool is_partial;       /* the table lacks what the guest did not have in memory */
};

struct vmop_guest_table_cache {
	size_t n;
	size_t bytes, max_bytes;
	uint64_t n_uses;
	size_t n_asked;							  /* slots that are */
	uint64_t hashes[VMOP_GUEST_TABLE_CACHE_FILES];			  /* of keys */
	struct vmop_guest_table_slot slots[VMOP_GUEST_TABLE_CACHE_FILES]; /* n of them */
};

/* Initialise an empty cache. max_bytes of all tables: VMOP_GUEST_TABLE_CACHE_BYTES, but in tests.
 */
void vmop_guest_table_cache_init(struct vmop_guest_table_cache *cache, size_t max_bytes);
void vmop_guest_table_cache_deinit(struct vmop_guest_table_cache *cache);

/* Return the slot of a key, which counts as used now, or NULL. Valid until the next put or add. */
struct vmop_guest_table_slot *vmop_guest_table_cache_find(struct vmop_guest_table_cache *cache,
							  const struct vmop_guest_code_key *key);

/* Add a key that is not in the cache, VMOP_CODE_PENDING. Return its slot. */
struct vmop_guest_table_slot *vmop_guest_table_cache_add(struct vmop_guest_table_cache *cache,
							 const struct vmop_guest_code_key *key);

/* Note that the table of a slot was requested. */
void vmop_guest_table_cache_ask(struct vmop_guest_table_cache *cache,
				struct vmop_guest_table_slot *slot, uint64_t now_ns);

/*
 * Store an answer; the table passes to the cache. That for a key which has gone is dropped, and so
 * is one that is worse than a partial table which the cache has.
 */
void vmop_guest_table_cache_put(struct vmop_guest_table_cache *cache,
				const struct vmop_guest_code_key *key, enum vmop_code_state state,
				struct vmop_cfi_table *table);

#endif
