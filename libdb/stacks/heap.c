// SPDX-License-Identifier: GPL-2.0-or-later
#include "libdb/stacks/heap.h"

#include <stdlib.h>
#include <string.h>

#include "libdb/db.h"

#define FIRST_CELLS 1024
#define ROOM_CELLS 512 /* at least, to unpack into */

void vmop_stack_heap_deinit(struct vmop_stack_heap *heap)
{
	free(heap->cells);
	*heap = (struct vmop_stack_heap){0};
}

static void add_saturated(uint64_t *sum, uint64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = UINT64_MAX;
}

void vmop_stack_heap_merge(struct vmop_stack_heap *heap)
{
	struct vmop_db_stack_cell *cells = heap->cells;
	size_t kept = 0;
	if (!heap->n)
		return;
	vmop_db_sort_stack_cells(cells, cells + heap->capacity, heap->n);
	for (size_t i = 0; i < heap->n; i++) {
		struct vmop_db_stack_cell *last = kept ? &cells[kept - 1] : NULL;
		if (last && last->stack.number == cells[i].stack.number &&
		    last->cell.offset == cells[i].cell.offset) {
			add_saturated(&last->cell.samples, cells[i].cell.samples);
			add_saturated(&last->cell.weight_events, cells[i].cell.weight_events);
		} else {
			cells[kept++] = cells[i];
		}
	}
	heap->n = kept;
}

/* Make room for more cells: sum first, and grow only if that freed too little. */
static enum vmop_unpack_error make_room(struct vmop_stack_heap *heap)
{
	if (heap->capacity - heap->n >= ROOM_CELLS)
		return VMOP_UNPACK_OK;
	vmop_stack_heap_merge(heap);
	if (heap->capacity && heap->n <= heap->capacity / 2)
		return VMOP_UNPACK_OK;
	size_t capacity = heap->capacity ? 2 * heap->capacity : FIRST_CELLS;
	size_t bytes = 2 * capacity * sizeof(*heap->cells);
	if (heap->max_bytes && bytes > heap->max_bytes)
		return VMOP_UNPACK_LIMIT;
	struct vmop_db_stack_cell *cells = malloc(bytes);
	if (!cells)
		return VMOP_UNPACK_NO_MEMORY;
	if (heap->n)
		memcpy(cells, heap->cells, heap->n * sizeof(*cells));
	free(heap->cells);
	heap->cells = cells;
	heap->capacity = capacity;
	return VMOP_UNPACK_OK;
}

enum vmop_unpack_error vmop_stack_heap_add(struct vmop_stack_heap *heap, const void *blob,
					   size_t len_bytes)
{
	struct vmop_unpack_stacks unpack;
	enum vmop_unpack_result result = VMOP_UNPACK_CELL;
	if (!vmop_unpack_stacks_begin(&unpack, blob, len_bytes))
		return VMOP_UNPACK_CORRUPT;
	while (result == VMOP_UNPACK_CELL) {
		size_t n;
		enum vmop_unpack_error error = make_room(heap);
		if (error)
			return error;
		result = vmop_unpack_stacks_some(&unpack, heap->cells + heap->n,
						 heap->capacity - heap->n, &n);
		heap->n += n;
	}
	return result == VMOP_UNPACK_END ? VMOP_UNPACK_OK : VMOP_UNPACK_CORRUPT;
}
