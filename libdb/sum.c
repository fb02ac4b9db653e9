// SPDX-License-Identifier: GPL-2.0-or-later
#include "libdb/sum.h"

#include <stdlib.h>

#define FIRST_CAPACITY 16

static void add_saturated(uint64_t *sum, uint64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = UINT64_MAX;
}

void vmop_sums_deinit(struct vmop_sums *sums)
{
	struct vmop_sum *sum, *next;
	HASH_ITER(hh, sums->all, sum, next)
	{
		HASH_DEL(sums->all, sum);
		free(sum->slots);
		free(sum);
	}
	sums->last = NULL;
}

struct vmop_sum *vmop_sums_at(struct vmop_sums *sums, const struct vmop_sum_key *key)
{
	struct vmop_sum *sum = sums->last;
	if (sum && memcmp(&sum->key, key, sizeof(*key)) == 0)
		return sum;
	HASH_FIND(hh, sums->all, key, sizeof(*key), sum);
	if (!sum) {
		sum = calloc(1, sizeof(*sum));
		if (!sum)
			return NULL;
		sum->key = *key;
		HASH_ADD(hh, sums->all, key, sizeof(sum->key), sum);
	}
	sums->last = sum;
	return sum;
}

/* Fibonacci hashing: the high bits of a product by 2^64 over the golden ratio. */
static size_t slot_of(const struct vmop_sum *sum, uint64_t offset)
{
	return (size_t)((offset * UINT64_C(0x9e3779b97f4a7c15)) >> 32) & (sum->capacity - 1);
}

/* The slot that holds offset, or the free one for it. There always is a free one. */
static struct vmop_db_cell *find(const struct vmop_sum *sum, uint64_t offset)
{
	size_t i = slot_of(sum, offset);
	while (sum->slots[i].samples && sum->slots[i].offset != offset)
		i = (i + 1) & (sum->capacity - 1);
	return &sum->slots[i];
}

/* Keeps at least a third of the slots free. */
static int make_room(struct vmop_sum *sum)
{
	if (sum->n_cells + 1 <= sum->capacity / 3 * 2)
		return 0;
	struct vmop_sum grown = *sum;
	grown.capacity = sum->capacity ? sum->capacity * 2 : FIRST_CAPACITY;
	grown.slots = calloc(grown.capacity, sizeof(*grown.slots));
	if (!grown.slots)
		return -1;
	for (size_t i = 0; i < sum->capacity; i++)
		if (sum->slots[i].samples)
			*find(&grown, sum->slots[i].offset) = sum->slots[i];
	free(sum->slots);
	sum->slots = grown.slots;
	sum->capacity = grown.capacity;
	return 0;
}

enum vmop_unpack_error vmop_sum_add_packed(struct vmop_sum *sum, const void *blob, size_t len_bytes)
{
	struct vmop_unpack unpack;
	struct vmop_db_cell cell;
	if (!vmop_unpack_begin(&unpack, blob, len_bytes))
		return VMOP_UNPACK_CORRUPT;
	for (;;) {
		enum vmop_unpack_result result = vmop_unpack_next(&unpack, &cell);
		if (result != VMOP_UNPACK_CELL)
			return result == VMOP_UNPACK_END ? VMOP_UNPACK_OK : VMOP_UNPACK_CORRUPT;
		if (make_room(sum) < 0)
			return VMOP_UNPACK_NO_MEMORY;
		struct vmop_db_cell *slot = find(sum, cell.offset);
		if (!slot->samples) {
			*slot = cell;
			sum->n_cells++;
			continue;
		}
		add_saturated(&slot->samples, cell.samples);
		add_saturated(&slot->weight_events, cell.weight_events);
	}
}

void vmop_sum_add_total(struct vmop_sum *sum, uint64_t samples, uint64_t weight_events)
{
	add_saturated(&sum->samples, samples);
	add_saturated(&sum->weight_events, weight_events);
}

static int by_offset(const void *a, const void *b)
{
	const struct vmop_db_cell *x = a, *y = b;
	return x->offset < y->offset ? -1 : x->offset > y->offset;
}

const struct vmop_db_cell *vmop_sum_sort(struct vmop_sum *sum)
{
	if (!sum->slots)
		return NULL;
	size_t n = 0;
	for (size_t i = 0; i < sum->capacity; i++)
		if (sum->slots[i].samples)
			sum->slots[n++] = sum->slots[i];
	qsort(sum->slots, n, sizeof(*sum->slots), by_offset);
	return sum->slots;
}
