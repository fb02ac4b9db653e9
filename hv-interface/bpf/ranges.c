// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/bpf/ranges.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"

bool vmop_ranges_init(struct vmop_ranges *ranges, uint32_t n)
{
	*ranges = (struct vmop_ranges){0};
	if (!vmop_array_reserve(ranges->free, ranges->free_capacity, 1))
		return false;
	ranges->free[ranges->n_free++] = (struct vmop_range){.first = 0, .n = n};
	return true;
}

void vmop_ranges_deinit(struct vmop_ranges *ranges)
{
	free(ranges->free);
	free(ranges->resting);
	*ranges = (struct vmop_ranges){0};
}

static void remove_at(struct vmop_range *list, size_t *n, size_t at)
{
	memmove(list + at, list + at + 1, (--*n - at) * sizeof(*list));
}

/* Put a range among the free ones, merged with its neighbours. False: no memory. */
static bool insert(struct vmop_ranges *ranges, const struct vmop_range *range)
{
	if (!vmop_array_reserve(ranges->free, ranges->free_capacity, ranges->n_free + 1))
		return false;
	struct vmop_range *list = ranges->free;
	size_t low = 0, high = ranges->n_free;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (list[middle].first < range->first)
			low = middle + 1;
		else
			high = middle;
	}
	memmove(list + low + 1, list + low, (ranges->n_free++ - low) * sizeof(*list));
	list[low] = (struct vmop_range){.first = range->first, .n = range->n};
	if (low + 1 < ranges->n_free && list[low].first + list[low].n == list[low + 1].first) {
		list[low].n += list[low + 1].n;
		remove_at(list, &ranges->n_free, low + 1);
	}
	if (low > 0 && list[low - 1].first + list[low - 1].n == list[low].first) {
		list[low - 1].n += list[low].n;
		remove_at(list, &ranges->n_free, low);
	}
	return true;
}

/* Free the ranges that have rested for the grace time. */
static void wake(struct vmop_ranges *ranges, uint64_t now_ns)
{
	size_t n = 0;
	while (n < ranges->n_resting &&
	       now_ns - ranges->resting[n].freed_ns >= VMOP_RANGES_GRACE_NS &&
	       insert(ranges, &ranges->resting[n]))
		n++;
	ranges->n_resting -= n;
	if (n)
		memmove(ranges->resting, ranges->resting + n,
			ranges->n_resting * sizeof(*ranges->resting));
}

bool vmop_ranges_take(struct vmop_ranges *ranges, uint32_t n, uint64_t now_ns, uint32_t *ret)
{
	wake(ranges, now_ns);
	for (size_t i = 0; i < ranges->n_free; i++) {
		struct vmop_range *range = &ranges->free[i];
		if (range->n < n)
			continue;
		*ret = range->first;
		range->first += n;
		range->n -= n;
		if (!range->n)
			remove_at(ranges->free, &ranges->n_free, i);
		ranges->used += n;
		return true;
	}
	return false;
}

void vmop_ranges_free(struct vmop_ranges *ranges, uint32_t first, uint32_t n, uint64_t now_ns)
{
	if (!n ||
	    !vmop_array_reserve(ranges->resting, ranges->resting_capacity, ranges->n_resting + 1))
		return;
	ranges->resting[ranges->n_resting++] =
		(struct vmop_range){.first = first, .n = n, .freed_ns = now_ns};
	ranges->used -= n;
}
