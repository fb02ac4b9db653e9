// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/tally.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/hash-seed.h"

enum { FIRST_CAPACITY = 1024 };

void vmop_tally_init(struct vmop_tally *tally, size_t n_slots)
{
	*tally = (struct vmop_tally){.n_slots = n_slots ? n_slots : 1, .seed = vmop_hash_seed()};
}

void vmop_tally_deinit(struct vmop_tally *tally)
{
	free(tally->keys);
	free(tally->counts);
	free(tally->buckets);
	free(tally->left_out);
	*tally = (struct vmop_tally){0};
}

/*
 * The finaliser of MurmurHash3 (public domain): every bit of the key affects every bit of the hash.
 * The seed is applied first, since the finaliser can be inverted.
 */
static inline uint64_t hash_key(const struct vmop_tally *tally, uint32_t group, uint64_t value)
{
	uint64_t hash = (value ^ ((uint64_t)group << 40 | group)) * tally->seed;
	hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdull;
	hash = (hash ^ hash >> 33) * 0xc4ceb9fe1a85ec53ull;
	return hash ^ hash >> 33;
}

static size_t bytes_of(const struct vmop_tally *tally, size_t capacity)
{
	return capacity * (sizeof(*tally->keys) + tally->n_slots * sizeof(*tally->counts) +
			   2 * sizeof(*tally->buckets));
}

static struct vmop_error *left_out(struct vmop_tally *tally, struct vmop_count **ret,
				   size_t *ret_index)
{
	if (!tally->left_out)
		tally->left_out = calloc(tally->n_slots, sizeof(*tally->left_out));
	if (!tally->left_out)
		return &vmop_error_no_memory;
	*ret = tally->left_out;
	if (ret_index)
		*ret_index = VMOP_TALLY_LEFT_OUT;
	return NULL;
}

static void rehash(struct vmop_tally *tally)
{
	size_t mask = tally->n_buckets - 1;
	for (size_t i = 0; i < tally->n; i++) {
		size_t at = hash_key(tally, tally->keys[i].group, tally->keys[i].value) & mask;
		while (tally->buckets[at])
			at = (at + 1) & mask;
		tally->buckets[at] = (uint32_t)(i + 1);
	}
}

static size_t next_capacity(size_t capacity)
{
	return capacity ? capacity * 2 : FIRST_CAPACITY;
}

static struct vmop_error *grow(struct vmop_tally *tally, size_t capacity)
{
	void *keys = reallocarray(tally->keys, capacity, sizeof(*tally->keys));
	if (!keys)
		return &vmop_error_no_memory;
	tally->keys = keys;
	void *counts =
		reallocarray(tally->counts, capacity, tally->n_slots * sizeof(*tally->counts));
	if (!counts)
		return &vmop_error_no_memory;
	tally->counts = counts;
	uint32_t *buckets = calloc(capacity * 2, sizeof(*buckets));
	if (!buckets)
		return &vmop_error_no_memory;
	free(tally->buckets);
	tally->buckets = buckets;
	tally->n_buckets = capacity * 2;
	tally->capacity = capacity;
	rehash(tally);
	return NULL;
}

struct vmop_error *vmop_tally_reserve(struct vmop_tally *tally, size_t n)
{
	size_t capacity = tally->capacity;
	while (capacity < tally->n + n &&
	       bytes_of(tally, next_capacity(capacity)) <= VMOP_TALLY_MAX_BYTES)
		capacity = next_capacity(capacity);
	return capacity > tally->capacity ? grow(tally, capacity) : NULL;
}

struct vmop_error *vmop_tally_at(struct vmop_tally *tally, uint32_t group, uint64_t value,
				 struct vmop_count **ret, size_t *ret_index)
{
	if (group == VMOP_NO_GROUP)
		return left_out(tally, ret, ret_index);
	bool is_full = tally->n == tally->capacity && tally->n &&
		       bytes_of(tally, tally->capacity * 2) > VMOP_TALLY_MAX_BYTES;
	if (tally->n == tally->capacity && !is_full) {
		struct vmop_error *err = grow(tally, next_capacity(tally->capacity));
		if (err)
			return err;
	}
	size_t mask = tally->n_buckets - 1;
	size_t at = hash_key(tally, group, value) & mask;
	size_t index;
	for (;; at = (at + 1) & mask) {
		if (!tally->buckets[at]) {
			if (is_full)
				return left_out(tally, ret, ret_index);
			index = tally->n++;
			tally->buckets[at] = (uint32_t)(index + 1);
			tally->keys[index] = (struct vmop_tally_key){value, group};
			memset(tally->counts + index * tally->n_slots, 0,
			       tally->n_slots * sizeof(*tally->counts));
			break;
		}
		index = tally->buckets[at] - 1;
		if (tally->keys[index].value == value && tally->keys[index].group == group)
			break;
	}
	*ret = tally->counts + index * tally->n_slots;
	if (ret_index)
		*ret_index = index;
	return NULL;
}
