// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/heap.h"

#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define HUGE_PAGE_BYTES ((uintptr_t)2 << 20) /* smaller than a huge page elsewhere: no effect */
#define MMAP_THRESHOLD_BYTES (32 << 20)	     /* the largest that malloc accepts */
#define ADVISED_BYTES ((uintptr_t)MMAP_THRESHOLD_BYTES - HUGE_PAGE_BYTES)
#define ADVISED_BLOCKS 3 /* they follow one another */
#define TRIM_THRESHOLD_BYTES (256 << 20)
#define RETURNED_BYTES (4 << 20) /* smaller values cost faults at each roll-up */

/* Prefer huge pages for the whole ones in a block. */
static void advise(void *block, size_t len_bytes)
{
	uintptr_t start = (uintptr_t)block, end = start + len_bytes;
	start = (start + HUGE_PAGE_BYTES - 1) & ~(HUGE_PAGE_BYTES - 1);
	end &= ~(HUGE_PAGE_BYTES - 1);
	if (end > start)
		madvise((void *)start, end - start, MADV_HUGEPAGE);
}

void *vmop_heap_alloc_large(size_t n, size_t item_bytes)
{
	void *block = reallocarray(NULL, n, item_bytes);
	if (block)
		advise(block, n * item_bytes);
	return block;
}

void vmop_heap_return_large(void)
{
	/* Setting one of them ends the adjustment of both. */
	mallopt(M_MMAP_THRESHOLD, RETURNED_BYTES);
	mallopt(M_TRIM_THRESHOLD, RETURNED_BYTES);
}

void vmop_heap_prefer_huge_pages(void)
{
#ifdef __SANITIZE_ADDRESS__ /* it replaces malloc, and writes to the shadow of each block */
	return;
#endif
	/* Blocks below the threshold come from one range, not from a mapping each. */
	mallopt(M_MMAP_THRESHOLD, MMAP_THRESHOLD_BYTES);
	mallopt(M_TRIM_THRESHOLD, TRIM_THRESHOLD_BYTES);
	void *volatile blocks[ADVISED_BLOCKS]; /* volatile: the pairs must not be optimised */
	for (size_t i = 0; i < ADVISED_BLOCKS; i++) {
		blocks[i] = malloc(ADVISED_BYTES);
		if (blocks[i])
			advise(blocks[i], ADVISED_BYTES);
	}
	for (size_t i = 0; i < ADVISED_BLOCKS; i++)
		free(blocks[i]);
}
