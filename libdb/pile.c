// SPDX-License-Identifier: GPL-2.0-or-later
#include "libdb/pile.h"

#include <stdlib.h>
#include <string.h>

#include "libdb/db.h"
#include "libdb/stacks/heap.h"
#include "libutil/array.h"

#define FIRST_CELLS 4096
#define ROOM_CELLS 512 /* at least, to unpack into */

void vmop_pile_deinit(struct vmop_pile *pile)
{
	free(pile->all);
	free(pile->bytes);
	*pile = (struct vmop_pile){0};
}

bool vmop_pile_add(struct vmop_pile *pile, const struct vmop_sum_key *key, const void *blob,
		   size_t len_bytes)
{
	if (!vmop_array_reserve(pile->all, pile->capacity, pile->n + 1) ||
	    !vmop_array_reserve(pile->bytes, pile->bytes_capacity, pile->n_bytes + len_bytes))
		return false;
	memcpy(pile->bytes + pile->n_bytes, blob, len_bytes);
	pile->all[pile->n++] =
		(struct vmop_piled){.key = *key,
				    .has_stacks = vmop_pack_has_stacks(blob, len_bytes),
				    .len_bytes = (uint32_t)len_bytes,
				    .at = pile->n_bytes};
	pile->n_bytes += len_bytes;
	return true;
}

/* ---- the cells of one key -------------------------------------------------- */

/* Cells in any order, and the same room again to sort them in. */
struct heap {
	struct vmop_db_cell *cells; /* 2 * capacity of them */
	size_t n, capacity;
};

static void add_saturated(uint64_t *sum, uint64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = UINT64_MAX;
}

/* Sort the cells, and sum those with the same offset. */
static void merge_offsets(struct heap *heap)
{
	struct vmop_db_cell *cells = heap->cells;
	size_t kept = 0;
	vmop_db_sort_cells(cells, cells + heap->capacity, heap->n);
	for (size_t i = 0; i < heap->n; i++) {
		if (kept && cells[kept - 1].offset == cells[i].offset) {
			add_saturated(&cells[kept - 1].samples, cells[i].samples);
			add_saturated(&cells[kept - 1].weight_events, cells[i].weight_events);
		} else {
			cells[kept++] = cells[i];
		}
	}
	heap->n = kept;
}

/* Make room for more cells: merge offsets first, and grow only if that freed too little. */
static bool make_room(struct heap *heap)
{
	if (heap->capacity - heap->n >= ROOM_CELLS)
		return true;
	if (heap->n)
		merge_offsets(heap);
	if (heap->capacity && heap->n <= heap->capacity / 2)
		return true;
	size_t capacity = heap->capacity ? 2 * heap->capacity : FIRST_CELLS;
	struct vmop_db_cell *cells = malloc(2 * capacity * sizeof(*cells));
	if (!cells)
		return false;
	if (heap->n)
		memcpy(cells, heap->cells, heap->n * sizeof(*cells));
	free(heap->cells);
	heap->cells = cells;
	heap->capacity = capacity;
	return true;
}

static enum vmop_unpack_error unpack(struct heap *heap, const void *blob, size_t len_bytes)
{
	struct vmop_unpack at;
	enum vmop_unpack_result result = VMOP_UNPACK_CELL;
	if (!vmop_unpack_begin(&at, blob, len_bytes))
		return VMOP_UNPACK_CORRUPT;
	while (result == VMOP_UNPACK_CELL) {
		size_t n;
		if (!make_room(heap))
			return VMOP_UNPACK_NO_MEMORY;
		result = vmop_unpack_some(&at, heap->cells + heap->n, heap->capacity - heap->n, &n);
		heap->n += n;
	}
	return result == VMOP_UNPACK_END ? VMOP_UNPACK_OK : VMOP_UNPACK_CORRUPT;
}

/* ---- all keys --------------------------------------------------------------- */

static int compare_keys(const struct vmop_piled *a, const struct vmop_piled *b)
{
	if (a->key.place != b->key.place)
		return a->key.place < b->key.place ? -1 : 1;
	if (a->key.task.number != b->key.task.number)
		return a->key.task.number < b->key.task.number ? -1 : 1;
	return a->has_stacks - b->has_stacks;
}

static int compare(const void *a, const void *b)
{
	const struct vmop_piled *x = a, *y = b;
	int order = compare_keys(x, y);
	return order ? order : (x->at > y->at) - (x->at < y->at);
}

static enum vmop_unpack_error sum_plain(const struct vmop_pile *pile, size_t first, size_t end,
					struct heap *heap)
{
	enum vmop_unpack_error error = VMOP_UNPACK_OK;
	heap->n = 0;
	for (size_t i = first; !error && i < end; i++)
		error = unpack(heap, pile->bytes + pile->all[i].at, pile->all[i].len_bytes);
	if (!error)
		merge_offsets(heap);
	return error;
}

static enum vmop_unpack_error sum_stacks(const struct vmop_pile *pile, size_t first, size_t end,
					 struct vmop_stack_heap *heap)
{
	enum vmop_unpack_error error = VMOP_UNPACK_OK;
	heap->n = 0;
	for (size_t i = first; !error && i < end; i++)
		error = vmop_stack_heap_add(heap, pile->bytes + pile->all[i].at,
					    pile->all[i].len_bytes);
	if (!error)
		vmop_stack_heap_merge(heap);
	return error;
}

struct vmop_error *
vmop_pile_each(struct vmop_pile *pile, struct vmop_db *db, size_t max_bytes,
	       struct vmop_error *(*each)(void *arg, const struct vmop_pile_sum *sum), void *arg)
{
	struct heap heap = {0};
	_cleanup_(vmop_stack_heap_deinit) struct vmop_stack_heap stacks = {.max_bytes = max_bytes};
	struct vmop_error *err = NULL;
	if (pile->n)
		qsort(pile->all, pile->n, sizeof(*pile->all), compare);
	for (size_t first = 0, end; !err && first < pile->n; first = end) {
		const struct vmop_piled *piled = &pile->all[first];
		struct vmop_pile_sum sum = {.key = piled->key};
		for (end = first + 1; end < pile->n && !compare_keys(piled, &pile->all[end]);)
			end++;
		enum vmop_unpack_error error = piled->has_stacks
						       ? sum_stacks(pile, first, end, &stacks)
						       : sum_plain(pile, first, end, &heap);
		err = vmop_db_unpacked(db, error);
		if (err)
			break;
		sum.cells = piled->has_stacks ? NULL : heap.cells;
		sum.stack_cells = piled->has_stacks ? stacks.cells : NULL;
		sum.n = piled->has_stacks ? stacks.n : heap.n;
		err = each(arg, &sum);
	}
	free(heap.cells);
	return err;
}

/* ---- storing ---------------------------------------------------------------- */

struct target {
	struct vmop_db *db;
	uint32_t interval, n_chunks;
};

static struct vmop_error *store_sum(void *arg, const struct vmop_pile_sum *sum)
{
	struct target *target = arg;
	struct vmop_db_chunk_row row = {
		.interval = target->interval,
		.number = target->n_chunks++,
		.place = sum->key.place,
		.task = sum->key.task,
		.cells = sum->cells,
		.stack_cells = sum->stack_cells,
		.n_cells = sum->n,
	};
	return vmop_db_insert_chunk(target->db, &row);
}

struct vmop_error *vmop_pile_store(struct vmop_pile *pile, struct vmop_db *db, uint32_t interval)
{
	struct target target = {.db = db, .interval = interval};
	return vmop_pile_each(pile, db, 0, store_sum, &target);
}
