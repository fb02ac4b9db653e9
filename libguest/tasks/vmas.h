// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The mappings of one mm_struct: a list to 6.0 (mmap, vm_next), a maple tree from 6.1 (kernel:
 * lib/maple_tree.c, include/linux/maple_tree.h). Thread: as for the vmop_guest.
 */
#ifndef VMOP_LIBGUEST_TASKS_VMAS_H
#define VMOP_LIBGUEST_TASKS_VMAS_H

#include <stdbool.h>
#include <stdint.h>

struct vmop_layout;
struct vmop_guest_space;

/* One mapping as in the kernel; page_offset is in pages of the guest. */
struct vmop_guest_raw_vma {
	uint64_t address; /* of the vm_area_struct */
	uint64_t start, end, flags, page_offset, file;
};

/* A visitor of mappings; false ends the walk: the rest is not needed, or memory is out. */
typedef bool vmop_guest_vma_fn(const struct vmop_guest_raw_vma *vma, void *arg);

/*
 * Visit all mappings of mm by rising address. Return false when the data is inconsistent: a cycle,
 * overlapping or unsorted mappings, a number of mappings other than mm states, or a fault. Then it
 * changed during the walk, or the guest lies.
 */
bool vmop_guest_vmas_walk(struct vmop_guest_space *space, const struct vmop_layout *layout,
			  uint64_t mm, vmop_guest_vma_fn *visit, void *arg);

#endif
