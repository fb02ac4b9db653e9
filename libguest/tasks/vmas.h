// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The mappings of one mm_struct: a list to 6.0 (mmap, vm_next), a maple tree
 * from 6.1 (kernel: lib/maple_tree.c, include/linux/maple_tree.h).
 */
#ifndef VMOP_LIBGUEST_TASKS_VMAS_H
#define VMOP_LIBGUEST_TASKS_VMAS_H

#include <stdbool.h>
#include <stdint.h>

struct vmop_layout;
struct vmop_view;

/* One mapping as the kernel has it. */
struct vmop_guest_raw_vma {
	uint64_t address; /* of the vm_area_struct */
	uint64_t start, end, flags, page_offset, file;
};

/* Returns false to end: the rest does not matter, or memory ran out. */
typedef bool vmop_guest_vma_fn(const struct vmop_guest_raw_vma *vma, void *arg);

/*
 * Visits all mappings of mm by rising address.  False when what was read does
 * not hold together (a cycle, overlapping or unsorted mappings, another number
 * of them than mm says, a fault): it changed, or it is a lie.
 */
bool vmop_guest_vmas_walk(struct vmop_view *view, const struct vmop_layout *layout, uint64_t mm,
			  vmop_guest_vma_fn *visit, void *arg);

#endif
