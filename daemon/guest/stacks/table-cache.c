// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/stacks/table-cache.h"

#include <string.h>

void vmop_guest_table_cache_init(struct vmop_guest_table_cache *cache, size_t max_bytes)
{
	memset(cache, 0, sizeof(*cache));
	cache->max_bytes = max_bytes;
}

void vmop_guest_table_cache_deinit(struct vmop_guest_table_cache *cache)
{
	for (size_t i = 0; i < cache->n; i++)
		vmop_cfi_table_destroy(cache->slots[i].table);
	cache->n = 0;
}

/* A guest can choose keys whose hashes are equal: they are only compared one by one. */
static uint64_t hash_of(const struct vmop_guest_code_key *key)
{
	const uint8_t *bytes = (const uint8_t *)key;
	uint64_t hash = 0;
	for (size_t i = 0; i < sizeof(*key); i += sizeof(hash)) {
		uint64_t word;
		memcpy(&word, bytes + i, sizeof(word));
		hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 29;
	}
	return hash;
}

struct vmop_guest_table_slot *vmop_guest_table_cache_find(struct vmop_guest_table_cache *cache,
							  const struct vmop_guest_code_key *key)
{
	uint64_t hash = hash_of(key);
	for (size_t i = 0; i < cache->n; i++) {
		struct vmop_guest_table_slot *slot = &cache->slots[i];
		if (cache->hashes[i] != hash || memcmp(&slot->key, key, sizeof(*key)) != 0)
			continue;
		slot->used = ++cache->n_uses;
		return slot;
	}
	return NULL;
}

static void remove_slot(struct vmop_guest_table_cache *cache, size_t i)
{
	struct vmop_guest_table_slot *slot = &cache->slots[i];
	vmop_cfi_table_destroy(slot->table);
	cache->bytes -= slot->table_bytes;
	cache->n_asked -= slot->is_asked;
	cache->n--;
	*slot = cache->slots[cache->n];
	cache->hashes[i] = cache->hashes[cache->n];
}

/* Return the slot that was not used for the longest time, of those with a table or of all. */
static size_t find_oldest(const struct vmop_guest_table_cache *cache, bool has_table)
{
	size_t oldest = cache->n;
	for (size_t i = 0; i < cache->n; i++)
		if ((cache->slots[i].table || !has_table) &&
		    (oldest == cache->n || cache->slots[i].used < cache->slots[oldest].used))
			oldest = i;
	return oldest;
}

struct vmop_guest_table_slot *vmop_guest_table_cache_add(struct vmop_guest_table_cache *cache,
							 const struct vmop_guest_code_key *key)
{
	if (cache->n == VMOP_GUEST_TABLE_CACHE_FILES)
		remove_slot(cache, find_oldest(cache, false));
	struct vmop_guest_table_slot *slot = &cache->slots[cache->n];
	cache->hashes[cache->n++] = hash_of(key);
	*slot = (struct vmop_guest_table_slot){
		.key = *key, .state = VMOP_CODE_PENDING, .used = ++cache->n_uses};
	return slot;
}

void vmop_guest_table_cache_ask(struct vmop_guest_table_cache *cache,
				struct vmop_guest_table_slot *slot, uint64_t now_ns)
{
	cache->n_asked += !slot->is_asked;
	slot->is_asked = true;
	slot->requested_ns = now_ns;
	slot->n_requested += slot->n_requested < UINT8_MAX;
}

/* Make room for bytes more. Return false if there can't be so much. */
static bool make_room(struct vmop_guest_table_cache *cache, size_t bytes)
{
	while (cache->bytes + bytes > cache->max_bytes) {
		size_t oldest = find_oldest(cache, true);
		if (oldest == cache->n)
			return false;
		remove_slot(cache, oldest);
	}
	return true;
}

static void set_table(struct vmop_guest_table_cache *cache, struct vmop_guest_table_slot *slot,
		      struct vmop_cfi_table *table, size_t bytes)
{
	vmop_cfi_table_destroy(slot->table);
	cache->bytes -= slot->table_bytes;
	cache->bytes += bytes;
	slot->table = table;
	slot->table_bytes = bytes;
}

/* Return whether a slot's partial table is better than an answer. */
static bool is_better(const struct vmop_guest_table_slot *slot, enum vmop_code_state state,
		      const struct vmop_cfi_table *table)
{
	struct vmop_cfi_facts present, facts;
	if (!slot->table || !slot->is_partial)
		return false;
	if (!table || !vmop_cfi_table_is_partial(table))
		return state == VMOP_CODE_UNREADABLE;
	vmop_cfi_table_facts(slot->table, &present);
	vmop_cfi_table_facts(table, &facts);
	return facts.n_rows < present.n_rows;
}

void vmop_guest_table_cache_put(struct vmop_guest_table_cache *cache,
				const struct vmop_guest_code_key *key, enum vmop_code_state state,
				struct vmop_cfi_table *table)
{
	struct vmop_cfi_facts facts = {0};
	struct vmop_guest_table_slot *slot = vmop_guest_table_cache_find(cache, key);
	if (!slot) {
		vmop_cfi_table_destroy(table);
		return;
	}
	cache->n_asked -= slot->is_asked;
	slot->is_asked = false;
	if (is_better(slot, state, table)) {
		vmop_cfi_table_destroy(table);
		return;
	}
	set_table(cache, slot, NULL, 0);
	slot->state = state;
	slot->is_partial = table && vmop_cfi_table_is_partial(table);
	if (!table)
		return;
	vmop_cfi_table_facts(table, &facts);
	bool has_room = make_room(cache, facts.table_bytes);
	slot = vmop_guest_table_cache_find(cache, key); /* slots have moved */
	if (has_room) {
		set_table(cache, slot, table, facts.table_bytes);
		return;
	}
	vmop_cfi_table_destroy(table);
	slot->state = VMOP_CODE_UNREADABLE;
}
