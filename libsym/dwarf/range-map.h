// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A map from addresses to values, made of ranges that nest as functions and the functions inlined
 * into them do: an address has the value of the innermost range that contains it. Ranges come from
 * hostile files; one that overlaps another without nesting in it is cut. Inside libsym only.
 */
#ifndef VMOP_LIBSYM_DWARF_RANGE_MAP_H
#define VMOP_LIBSYM_DWARF_RANGE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libsym/budget.h"

#define VMOP_RANGE_NONE UINT32_MAX

struct vmop_range {
	uint64_t low, high; /* [low, high) */
	uint32_t depth;	    /* of two equal ranges, the deeper one is inside */
	uint32_t value;	    /* not VMOP_RANGE_NONE */
};

/* From here up to the next step, addresses have this value. */
struct vmop_range_step {
	uint64_t start;
	uint32_t value; /* VMOP_RANGE_NONE: no range */
};

/* A zeroed map is empty. Its memory is charged to the budget. */
struct vmop_range_map {
	struct vmop_range *ranges; /* until finished */
	size_t n_ranges, range_capacity;
	struct vmop_range_step *steps; /* ascending */
	size_t n_steps;
};

/* Add a range; an empty one is ignored. False: the budget or memory ran out. */
bool vmop_range_map_add(struct vmop_range_map *map, struct vmop_sym_budget *budget,
			const struct vmop_range *range);

/* Make the map of the ranges that were added. False: likewise. */
bool vmop_range_map_finish(struct vmop_range_map *map, struct vmop_sym_budget *budget);

/* Return the value of an address in a finished map, or VMOP_RANGE_NONE. */
uint32_t vmop_range_map_find(const struct vmop_range_map *map, uint64_t address);

void vmop_range_map_deinit(struct vmop_range_map *map, struct vmop_sym_budget *budget);

#endif
