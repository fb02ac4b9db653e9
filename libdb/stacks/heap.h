// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A heap of cells with stacks: the cells of several blobs, summed by stack and offset.
 */
#ifndef VMOP_LIBDB_STACKS_HEAP_H
#define VMOP_LIBDB_STACKS_HEAP_H

#include "libdb/stacks/cells.h"

/* It begins zeroed. Its user may set n to 0 to use it again. */
struct vmop_stack_heap {
	struct vmop_db_stack_cell *cells; /* 2 * capacity of them: the upper half is for sorting */
	size_t n, capacity;
	size_t max_bytes; /* 0: no bound */
};

void vmop_stack_heap_deinit(struct vmop_stack_heap *heap);

/*
 * Append the cells of a blob, in its order.  Cells that were there before may be summed and sorted
 * to make room.  VMOP_UNPACK_LIMIT: the heap needs more than max_bytes.
 */
enum vmop_unpack_error vmop_stack_heap_add(struct vmop_stack_heap *heap, const void *blob,
					   size_t len_bytes);

/*
 * Sort the cells by stack and offset, and sum those of one stack and offset.  A sum beyond 64 bits
 * becomes the greatest number.
 */
void vmop_stack_heap_merge(struct vmop_stack_heap *heap);

#endif
