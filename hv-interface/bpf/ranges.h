// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An allocator of ranges of slots in an array that another party reads meanwhile: a freed range is
 * not handed out again before VMOP_RANGES_GRACE_NS have passed. One thread.
 */
#ifndef VMOP_HV_INTERFACE_BPF_RANGES_H
#define VMOP_HV_INTERFACE_BPF_RANGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VMOP_RANGES_GRACE_NS UINT64_C(200000000)

struct vmop_range {
	uint32_t first, n;
	uint64_t freed_ns;
};

struct vmop_ranges {
	struct vmop_range *free; /* sorted, disjoint, never adjacent */
	size_t n_free, free_capacity;
	struct vmop_range *resting; /* freed, oldest first */
	size_t n_resting, resting_capacity;
	size_t used; /* slots that are handed out */
};

/* Initialise with n free slots. False: no memory. Free with vmop_ranges_deinit in any case. */
bool vmop_ranges_init(struct vmop_ranges *ranges, uint32_t n);
void vmop_ranges_deinit(struct vmop_ranges *ranges);

/*
 * Set *ret to the first of n consecutive slots, n being at least 1. now_ns: CLOCK_MONOTONIC. False:
 * no such range is free now, or no memory.
 */
bool vmop_ranges_take(struct vmop_ranges *ranges, uint32_t n, uint64_t now_ns, uint32_t *ret);

/*
 * Return n slots, which were taken together, so that they are free after the grace time. Without
 * memory they stay taken.
 */
void vmop_ranges_free(struct vmop_ranges *ranges, uint32_t first, uint32_t n, uint64_t now_ns);

#endif
