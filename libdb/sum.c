// SPDX-License-Identifier: GPL-2.0-or-later
/* Without memory, HASH_ADD leaves an element's tbl NULL instead of ending the program. */
#define HASH_NONFATAL_OOM 1
#include "libdb/sum.h"

#include <stdlib.h>
#include <string.h>

#include "libdb/db.h"
#include "libdb/stacks/cells.h"
#include "libutil/array.h"

#define FIRST_CAPACITY 4
#define AHEAD 32 /* cells that are unpacked before the first is looked up */

static void add_saturated(uint64_t *sum, uint64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = UINT64_MAX;
}

void vmop_sums_deinit(struct vmop_sums *sums)
{
	struct vmop_sum *sum, *next;
	HASH_ITER (hh, sums->all, sum, next) {
		HASH_DEL(sums->all, sum);
		free(sum->slots);
		free(sum);
	}
	free(sums->waiting);
	free(sums->blobs);
	*sums = (struct vmop_sums){0};
}

struct vmop_sum *vmop_sums_at(struct vmop_sums *sums, const struct vmop_sum_key *key)
{
	struct vmop_sum *sum = sums->last;
	if (sum && memcmp(&sum->key, key, sizeof(*key)) == 0)
		return sum;
	HASH_FIND(hh, sums->all, key, sizeof(*key), sum);
	if (!sum) {
		if (sums->max_bytes && sums->bytes + sizeof(*sum) > sums->max_bytes)
			return NULL;
		sum = calloc(1, sizeof(*sum));
		if (!sum)
			return NULL;
		sum->key = *key;
		HASH_ADD(hh, sums->all, key, sizeof(sum->key), sum);
		if (!sum->hh.tbl) {
			free(sum);
			return NULL;
		}
		sums->bytes += sizeof(*sum);
	}
	sums->last = sum;
	return sum;
}

/*
 * Multiply-shift hashing: the high bits of the product with a random odd number.  Any two offsets
 * collide for few of these numbers (Dietzfelbinger et al., "A reliable randomized algorithm for the
 * closest-pair problem", 1997), so an attacker can't choose offsets that all collide.
 */
static size_t slot_of(const struct vmop_sum *sum, uint64_t offset)
{
	return (size_t)((offset * sum->multiplier) >> sum->shift);
}

/* Return the slot of offset, or the free slot for it. There is always a free slot. */
static struct vmop_db_cell *find(const struct vmop_sum *sum, uint64_t offset)
{
	size_t i = slot_of(sum, offset);
	while (sum->slots[i].samples && sum->slots[i].offset != offset)
		i = (i + 1) & (sum->capacity - 1);
	return &sum->slots[i];
}

/* Make room for n more cells.  Half of the slots stay free: vmop_sum_sort needs them as scratch. */
static enum vmop_unpack_error make_room(struct vmop_sums *sums, struct vmop_sum *sum, size_t n)
{
	struct vmop_sum grown = *sum;
	while (sum->n_cells + n > grown.capacity / 2)
		grown.capacity = grown.capacity ? grown.capacity * 2 : FIRST_CAPACITY;
	if (grown.capacity == sum->capacity)
		return VMOP_UNPACK_OK;
	size_t more_bytes = (grown.capacity - sum->capacity) * sizeof(*grown.slots);
	if (sums && sums->max_bytes && more_bytes > sums->max_bytes - sums->bytes)
		return VMOP_UNPACK_LIMIT;
	grown.multiplier = vmop_hash_seed();
	grown.shift = 64 - (unsigned)__builtin_ctzll(grown.capacity);
	grown.slots = calloc(grown.capacity, sizeof(*grown.slots));
	if (!grown.slots)
		return VMOP_UNPACK_NO_MEMORY;
	for (size_t i = 0; i < sum->capacity; i++)
		if (sum->slots[i].samples)
			*find(&grown, sum->slots[i].offset) = sum->slots[i];
	free(sum->slots);
	*sum = grown;
	if (sums)
		sums->bytes += more_bytes;
	return VMOP_UNPACK_OK;
}

static void add_cell(struct vmop_sum *sum, const struct vmop_db_cell *cell)
{
	struct vmop_db_cell *slot = find(sum, cell->offset);
	if (!slot->samples) {
		*slot = *cell;
		sum->n_cells++;
		return;
	}
	add_saturated(&slot->samples, cell->samples);
	add_saturated(&slot->weight_events, cell->weight_events);
}

/* Add cells to sum; sums NULL: without a bound. */
static enum vmop_unpack_error add_cells(struct vmop_sums *sums, struct vmop_sum *sum,
					const struct vmop_db_cell *cells, size_t n)
{
	enum vmop_unpack_error error = make_room(sums, sum, n);
	if (error)
		return error;
	/* The table may be larger than the caches: fetch the slots of all cells at once. */
	for (size_t i = 0; i < n; i++)
		__builtin_prefetch(&sum->slots[slot_of(sum, cells[i].offset)], 1);
	for (size_t i = 0; i < n; i++)
		add_cell(sum, &cells[i]);
	return VMOP_UNPACK_OK;
}

static enum vmop_unpack_error add_packed_stacks(struct vmop_sums *sums, struct vmop_sum *sum,
						const void *blob, size_t len_bytes)
{
	struct vmop_unpack_stacks unpack;
	if (!vmop_unpack_stacks_begin(&unpack, blob, len_bytes))
		return VMOP_UNPACK_CORRUPT;
	enum vmop_unpack_result result;
	do {
		struct vmop_db_stack_cell with_stacks[AHEAD];
		struct vmop_db_cell cells[AHEAD];
		size_t n;
		result = vmop_unpack_stacks_some(&unpack, with_stacks, AHEAD, &n);
		for (size_t i = 0; i < n; i++)
			cells[i] = with_stacks[i].cell;
		enum vmop_unpack_error error = add_cells(sums, sum, cells, n);
		if (error)
			return error;
	} while (result == VMOP_UNPACK_CELL);
	return result == VMOP_UNPACK_END ? VMOP_UNPACK_OK : VMOP_UNPACK_CORRUPT;
}

/* Add the cells of a blob to sum; sums NULL: without a bound. */
static enum vmop_unpack_error add_packed(struct vmop_sums *sums, struct vmop_sum *sum,
					 const void *blob, size_t len_bytes)
{
	struct vmop_unpack unpack;
	if (vmop_pack_has_stacks(blob, len_bytes))
		return add_packed_stacks(sums, sum, blob, len_bytes);
	if (!vmop_unpack_begin(&unpack, blob, len_bytes))
		return VMOP_UNPACK_CORRUPT;
	enum vmop_unpack_result result;
	do {
		struct vmop_db_cell cells[AHEAD];
		size_t n;
		result = vmop_unpack_some(&unpack, cells, AHEAD, &n);
		enum vmop_unpack_error error = add_cells(sums, sum, cells, n);
		if (error)
			return error;
	} while (result == VMOP_UNPACK_CELL);
	return result == VMOP_UNPACK_END ? VMOP_UNPACK_OK : VMOP_UNPACK_CORRUPT;
}

enum vmop_unpack_error vmop_sums_add_cells(struct vmop_sums *sums, struct vmop_sum *sum,
					   const struct vmop_db_cell *cells, size_t n)
{
	return add_cells(sums, sum, cells, n);
}

enum vmop_unpack_error vmop_sum_add_packed(struct vmop_sum *sum, const void *blob, size_t len_bytes)
{
	return add_packed(NULL, sum, blob, len_bytes);
}

/* ---- blobs that wait ------------------------------------------------------ */

enum vmop_unpack_error vmop_sums_add_waiting(struct vmop_sums *sums)
{
	enum vmop_unpack_error error = VMOP_UNPACK_OK;
	for (struct vmop_sum *sum = sums->all; sum; sum = sum->hh.next) {
		for (; sum->waiting && !error;
		     sum->waiting = sums->waiting[sum->waiting - 1].before) {
			const struct vmop_waiting *waiting = &sums->waiting[sum->waiting - 1];
			error = add_packed(sums, sum, sums->blobs + waiting->at,
					   waiting->len_bytes);
		}
		sum->waiting = 0;
	}
	sums->n_waiting = sums->blobs_bytes = 0;
	return error;
}

/* The room grows with the blobs: most walks have far less than VMOP_SUMS_WAITING_BYTES. */
static bool make_waiting_room(struct vmop_sums *sums, size_t len_bytes)
{
	return vmop_array_reserve(sums->waiting, sums->waiting_capacity, sums->n_waiting + 1) &&
	       vmop_array_reserve(sums->blobs, sums->blobs_capacity, sums->blobs_bytes + len_bytes);
}

enum vmop_unpack_error vmop_sums_add_packed(struct vmop_sums *sums, struct vmop_sum *sum,
					    const void *blob, size_t len_bytes)
{
	if (!len_bytes || len_bytes > VMOP_SUMS_WAITING_BYTES)
		return add_packed(sums, sum, blob, len_bytes);
	enum vmop_unpack_error error = VMOP_UNPACK_OK;
	if (len_bytes > VMOP_SUMS_WAITING_BYTES - sums->blobs_bytes)
		error = vmop_sums_add_waiting(sums);
	if (error)
		return error;
	if (!make_waiting_room(sums, len_bytes))
		return VMOP_UNPACK_NO_MEMORY;
	memcpy(sums->blobs + sums->blobs_bytes, blob, len_bytes);
	sums->waiting[sums->n_waiting++] = (struct vmop_waiting){
		.before = sum->waiting, .len_bytes = (uint32_t)len_bytes, .at = sums->blobs_bytes};
	sum->waiting = (uint32_t)sums->n_waiting;
	sums->blobs_bytes += len_bytes;
	return VMOP_UNPACK_OK;
}

void vmop_sum_add_total(struct vmop_sum *sum, uint64_t samples, uint64_t weight_events)
{
	add_saturated(&sum->samples, samples);
	add_saturated(&sum->weight_events, weight_events);
}

const struct vmop_db_cell *vmop_sum_sort(struct vmop_sum *sum)
{
	if (!sum->slots)
		return NULL;
	size_t n = 0;
	for (size_t i = 0; i < sum->capacity; i++)
		if (sum->slots[i].samples)
			sum->slots[n++] = sum->slots[i];
	vmop_db_sort_cells(sum->slots, sum->slots + n, n);
	return sum->slots;
}
