// SPDX-License-Identifier: GPL-2.0-or-later
/* Settings of the C library's heap, and large blocks of it. */
#ifndef VMOP_LIBUTIL_HEAP_H
#define VMOP_LIBUTIL_HEAP_H

#include <stddef.h>

/*
 * Let this process allocate its first 90 MiB from huge pages, and use freed memory again instead of
 * returning it to the kernel. For programs that fill some MiB and end soon: a quarter of the CPU
 * time of a report was the kernel's, for pages of 4 KiB.
 *
 * Call it first in main, while there is one thread. The memory counts as used when it is touched,
 * up to 2 MiB at a time. Without memory or huge pages nothing changes but the speed.
 */
void vmop_heap_prefer_huge_pages(void);

/*
 * Return large blocks to the kernel when they are freed, and free memory at the end of a heap from
 * 4 MiB on. For programs that run for months: without it the C library keeps twice the size of the
 * largest block that was ever freed, up to 64 MiB (mallopt(3), M_MMAP_THRESHOLD).
 *
 * Call it first in main, while there is one thread.
 */
void vmop_heap_return_large(void);

/*
 * Allocate n uninitialised items like reallocarray(NULL, ...). Huge pages are preferred where the
 * block has whole ones: for blocks of megabytes that are filled at once.
 */
void *vmop_heap_alloc_large(size_t n, size_t item_bytes);

#endif
