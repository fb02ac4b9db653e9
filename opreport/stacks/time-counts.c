// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/time-counts.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"

#define SECOND_NS UINT64_C(1000000000)

void vmop_time_counts_init(struct vmop_time_counts *ret, uint64_t start_ns, uint64_t end_ns,
			   size_t n_slots)
{
	uint64_t all_ns = end_ns > start_ns ? end_ns - start_ns : 1;
	*ret = (struct vmop_time_counts){
		.start_ns = start_ns, .len_ns = SECOND_NS, .n_slots = n_slots};
	while ((all_ns - 1) / ret->len_ns >= VMOP_TIME_SPANS_MAX)
		ret->len_ns *= 2;
	ret->n_spans = (size_t)((all_ns - 1) / ret->len_ns) + 1;
}

void vmop_time_counts_deinit(struct vmop_time_counts *counts)
{
	free(counts->items);
	free(counts->last);
	*counts = (struct vmop_time_counts){0};
}

/* Add to the last item of the key if it is of that span.  Returns whether it was. */
static bool merge(struct vmop_time_counts *counts, const struct vmop_time_count *item)
{
	uint32_t last = counts->last[(size_t)item->key * counts->n_slots + item->slot];
	if (!last || counts->items[last - 1].span != item->span)
		return false;
	vmop_count_add(&counts->items[last - 1].count, item->count.samples,
		       item->count.weight_events);
	return true;
}

/* Append an item; there is room. */
static void append(struct vmop_time_counts *counts, const struct vmop_time_count *item)
{
	counts->items[counts->n++] = *item;
	counts->last[(size_t)item->key * counts->n_slots + item->slot] = (uint32_t)counts->n;
}

/* Make spans twice as long. */
static void halve(struct vmop_time_counts *counts)
{
	size_t n = counts->n;
	vmop_time_extents_halve(&counts->extents, counts->n_spans);
	counts->len_ns *= 2;
	counts->n_spans = (counts->n_spans + 1) / 2;
	counts->n = 0;
	memset(counts->last, 0, counts->last_capacity * sizeof(*counts->last));
	for (size_t i = 0; i < n; i++) {
		struct vmop_time_count item = counts->items[i];
		item.span /= 2;
		if (!merge(counts, &item))
			append(counts, &item);
	}
}

static uint16_t span_of(const struct vmop_time_counts *counts, uint64_t time_ns)
{
	uint64_t span =
		time_ns > counts->start_ns ? (time_ns - counts->start_ns) / counts->len_ns : 0;
	return (uint16_t)(span < counts->n_spans ? span : counts->n_spans - 1);
}

struct vmop_error *vmop_time_counts_add(struct vmop_time_counts *counts, uint32_t key, size_t slot,
					uint64_t interval_start_ns, uint64_t interval_len_ns,
					struct vmop_count count)
{
	size_t before = counts->last_capacity, index = (size_t)key * counts->n_slots + slot;
	if (index >= VMOP_TIME_KEYS_MAX) {
		counts->left_out_samples += count.samples;
		return NULL;
	}
	if (!vmop_array_reserve(counts->last, counts->last_capacity, index + 1))
		return &vmop_error_no_memory;
	memset(counts->last + before, 0, (counts->last_capacity - before) * sizeof(*counts->last));
	/* An interval is somewhat longer than a second where the daemon was late. */
	while (counts->n_spans > 1 && interval_len_ns > counts->len_ns + counts->len_ns / 2)
		halve(counts);
	uint64_t middle_ns = interval_start_ns + interval_len_ns / 2;
	struct vmop_time_count item = {.key = key, .slot = (uint16_t)slot, .count = count};
	item.span = span_of(counts, middle_ns);
	while (!merge(counts, &item)) {
		if (counts->n < VMOP_TIME_ITEMS_MAX) {
			if (!vmop_array_reserve(counts->items, counts->capacity, counts->n + 1))
				return &vmop_error_no_memory;
			append(counts, &item);
			break;
		}
		if (counts->n_spans == 1) {
			counts->left_out_samples += count.samples;
			return NULL;
		}
		halve(counts);
		item.span = span_of(counts, middle_ns);
	}
	vmop_time_extents_add(&counts->extents, item.span, interval_start_ns,
			      interval_start_ns + interval_len_ns);
	return NULL;
}

static int compare(const void *a, const void *b)
{
	const struct vmop_time_count *x = a, *y = b;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	if (x->slot != y->slot)
		return x->slot < y->slot ? -1 : 1;
	return (x->span > y->span) - (x->span < y->span);
}

void vmop_time_counts_sort(struct vmop_time_counts *counts)
{
	if (counts->n > 1)
		qsort(counts->items, counts->n, sizeof(*counts->items), compare);
}

/* Add up the neighbours of one key, slot and span. */
static void merge_sorted(struct vmop_time_counts *counts)
{
	size_t n = 0;
	for (size_t i = 0; i < counts->n; i++) {
		struct vmop_time_count *item = &counts->items[i];
		if (n && !compare(item, &counts->items[n - 1]))
			vmop_count_add(&counts->items[n - 1].count, item->count.samples,
				       item->count.weight_events);
		else
			counts->items[n++] = *item;
	}
	counts->n = n;
}

struct vmop_error *vmop_time_counts_copy(struct vmop_time_counts *ret,
					 const struct vmop_time_counts *counts,
					 const uint32_t *keys)
{
	*ret = *counts;
	ret->last = NULL;
	ret->last_capacity = 0;
	ret->capacity = counts->n;
	ret->items = calloc(counts->n + 1, sizeof(*ret->items));
	if (!ret->items) {
		*ret = (struct vmop_time_counts){0};
		return &vmop_error_no_memory;
	}
	for (size_t i = 0; i < counts->n; i++) {
		ret->items[i] = counts->items[i];
		if (keys)
			ret->items[i].key = keys[counts->items[i].key];
	}
	vmop_time_counts_sort(ret);
	merge_sorted(ret);
	return NULL;
}
