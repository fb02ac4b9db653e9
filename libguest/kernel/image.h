// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A kernel's image as its page table maps it, and searches in it.
 *
 * The image is one piece of physical memory, except on Xen PV, where each frame can lie anywhere.
 * Parts freed after boot are no longer mapped; such holes read as zeros.
 */
#ifndef VMOP_LIBGUEST_KERNEL_IMAGE_H
#define VMOP_LIBGUEST_KERNEL_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libguest/memory/page-table.h"

struct vmop_guest_kallsyms;

#define VMOP_GUEST_IMAGE_MAX_RUNS 512u
#define VMOP_GUEST_IMAGE_MAX_BYTES (UINT64_C(256) << 20)

/* A mapped piece: [start, end) of virtual addresses. */
struct vmop_guest_image_run {
	uint64_t start, end;
};

struct vmop_guest_image_map {
	uint64_t delta; /* gpa = address - delta */
	unsigned int runs;
	struct vmop_guest_image_run run[VMOP_GUEST_IMAGE_MAX_RUNS];
};

/*
 * Map [start, end): the pieces whose physical address fits that of the first mapped piece, at most
 * VMOP_GUEST_IMAGE_MAX_BYTES. Return false when nothing is mapped there.
 */
bool vmop_guest_image_map(struct vmop_guest_space *space, uint64_t start, uint64_t end,
			  struct vmop_guest_image_map *ret);

/*
 * Return the image's unpacked symbol table, which the caller frees. NULL: none was found, or memory
 * is out.
 */
struct vmop_guest_kallsyms *vmop_guest_image_symbols(struct vmop_guest_space *space,
						     const struct vmop_guest_image_map *map);

/*
 * Set *ret to the next address at or after *from where pattern (at most 64 bytes) lies, and set
 * *from to the byte after *ret. Return false when there are no more, or the budget or memory is
 * exhausted.
 */
bool vmop_guest_image_find(struct vmop_guest_space *space, const struct vmop_guest_image_map *map,
			   const void *pattern, size_t len_bytes, uint64_t *from, uint64_t *ret);

#endif
