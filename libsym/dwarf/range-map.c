// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/dwarf/range-map.h"

#include <stdlib.h>

enum { FIRST_CAPACITY = 64 };

static bool grow(struct vmop_range_map *map, struct vmop_sym_budget *budget)
{
	size_t capacity = map->range_capacity ? 2 * map->range_capacity : FIRST_CAPACITY;
	size_t more_bytes = (capacity - map->range_capacity) * sizeof(*map->ranges);
	if (!vmop_sym_budget_take_memory(budget, more_bytes))
		return false;
	void *grown = reallocarray(map->ranges, capacity, sizeof(*map->ranges));
	if (!grown) {
		vmop_sym_budget_give_memory(budget, more_bytes);
		return vmop_sym_budget_spend(budget, VMOP_SYM_COST_MEMORY);
	}
	map->ranges = grown;
	map->range_capacity = capacity;
	return true;
}

bool vmop_range_map_add(struct vmop_range_map *map, struct vmop_sym_budget *budget,
			const struct vmop_range *range)
{
	if (range->low >= range->high)
		return true;
	if (map->n_ranges == map->range_capacity && !grow(map, budget))
		return false;
	map->ranges[map->n_ranges++] = *range;
	return true;
}

/* Sort by start, the outer ones first. */
static int compare(const void *a, const void *b)
{
	const struct vmop_range *x = a, *y = b;
	if (x->low != y->low)
		return x->low < y->low ? -1 : 1;
	if (x->depth != y->depth)
		return x->depth < y->depth ? -1 : 1;
	if (x->high != y->high)
		return x->high > y->high ? -1 : 1;
	return (x->value > y->value) - (x->value < y->value);
}

static void step(struct vmop_range_map *map, uint64_t start, uint32_t value)
{
	struct vmop_range_step *last = map->n_steps ? &map->steps[map->n_steps - 1] : NULL;
	if (last && last->start == start)
		last->value = value;
	else if (!last || last->value != value)
		map->steps[map->n_steps++] =
			(struct vmop_range_step){.start = start, .value = value};
}

/* Leave the open ranges, n indexes, that end at or before an address. Returns their new number. */
static size_t leave(struct vmop_range_map *map, const uint32_t *open, size_t n, uint64_t address)
{
	while (n && map->ranges[open[n - 1]].high <= address) {
		uint64_t end = map->ranges[open[--n]].high;
		step(map, end, n ? map->ranges[open[n - 1]].value : VMOP_RANGE_NONE);
	}
	return n;
}

/* Go through the sorted ranges. The open ones are cut to nest, so that steps ascend. */
static void sweep(struct vmop_range_map *map, uint32_t *open)
{
	size_t n_open = 0;
	for (size_t i = 0; i < map->n_ranges; i++) {
		struct vmop_range *range = &map->ranges[i];
		n_open = leave(map, open, n_open, range->low);
		if (n_open && range->high > map->ranges[open[n_open - 1]].high)
			range->high = map->ranges[open[n_open - 1]].high;
		open[n_open++] = (uint32_t)i;
		step(map, range->low, range->value);
	}
	leave(map, open, n_open, UINT64_MAX);
}

bool vmop_range_map_finish(struct vmop_range_map *map, struct vmop_sym_budget *budget)
{
	size_t n = map->n_ranges, range_bytes = map->range_capacity * sizeof(*map->ranges);
	size_t step_bytes = 2 * n * sizeof(*map->steps), open_bytes = n * sizeof(uint32_t);
	if (!n)
		return true;
	if (n > UINT32_MAX || !vmop_sym_budget_take_memory(budget, step_bytes + open_bytes))
		return vmop_sym_budget_spend(budget, VMOP_SYM_COST_MEMORY);
	map->steps = malloc(step_bytes);
	uint32_t *open = malloc(open_bytes);
	if (map->steps && open) {
		qsort(map->ranges, n, sizeof(*map->ranges), compare);
		sweep(map, open);
	}
	bool is_done = map->steps && open;
	free(open);
	free(map->ranges);
	map->ranges = NULL;
	map->n_ranges = map->range_capacity = 0;
	size_t kept_bytes = map->n_steps * sizeof(*map->steps);
	void *kept = is_done ? realloc(map->steps, kept_bytes) : NULL;
	if (kept)
		map->steps = kept;
	vmop_sym_budget_give_memory(budget, open_bytes + range_bytes + step_bytes - kept_bytes);
	return is_done || vmop_sym_budget_spend(budget, VMOP_SYM_COST_MEMORY);
}

uint32_t vmop_range_map_find(const struct vmop_range_map *map, uint64_t address)
{
	size_t low = 0, high = map->n_steps;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (map->steps[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? map->steps[low - 1].value : VMOP_RANGE_NONE;
}

void vmop_range_map_deinit(struct vmop_range_map *map, struct vmop_sym_budget *budget)
{
	vmop_sym_budget_give_memory(budget, map->range_capacity * sizeof(*map->ranges) +
						    map->n_steps * sizeof(*map->steps));
	free(map->ranges);
	free(map->steps);
	*map = (struct vmop_range_map){0};
}
