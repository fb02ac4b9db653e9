// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A kernel's image as its page table maps it, and what is searched in it.
 *
 * The image is one piece of physical memory, but for Xen PV, where each frame is
 * anywhere.  What was freed of it after boot is not mapped any more; holes read as zeros.
 */
#ifndef VMOP_LIBGUEST_KERNEL_IMAGE_H
#define VMOP_LIBGUEST_KERNEL_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libguest/memory/page-table.h"

struct vmop_kallsyms;

#define VMOP_IMAGE_MAX_RUNS 512u
#define VMOP_IMAGE_MAX_BYTES (UINT64_C(256) << 20)

/* A mapped piece. */
struct vmop_image_run {
	uint64_t start, end;
};

struct vmop_image_map {
	uint64_t delta; /* gpa = address - delta */
	unsigned int runs;
	struct vmop_image_run run[VMOP_IMAGE_MAX_RUNS];
};

/*
 * Maps what of [start, end) follows from where its first mapped piece lies, and
 * at most VMOP_IMAGE_MAX_BYTES.  False: nothing is mapped there.
 */
bool vmop_image_map(struct vmop_view *view, uint64_t start, uint64_t end,
		    struct vmop_image_map *ret);

/* The image's symbol table, unpacked; NULL: none was found. */
struct vmop_kallsyms *vmop_image_symbols(struct vmop_view *view, const struct vmop_image_map *map);

/*
 * The next place at or after *from where pattern lies (at most 64 bytes of it);
 * *from goes behind its first byte.  False: there is no more, or the budget or
 * memory is out.
 */
bool vmop_image_find(struct vmop_view *view, const struct vmop_image_map *map, const void *pattern,
		     size_t len_bytes, uint64_t *from, uint64_t *ret);

#endif
