// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading chunks whole, or in pieces. */
#include <stdlib.h>
#include <string.h>

#include "libdb/db.h"
#include "libdb/filter.h"
#include "libdb/place-order.h"
#include "libdb/stacks/heap.h"
#include "libutil/array.h"

/* ---- whole chunks -------------------------------------------------------- */

/*
 * The file has chunks in the order of time, and the caller gets them by image.  So all are kept,
 * packed, and then passed to the callback in the order of their places.
 */
struct kept {
	uint32_t interval, place; /* indices into the selection's */
	struct vmop_task_row_id task;
	size_t at, len_bytes; /* of the cells, in keeping.bytes */
};

struct keeping {
	struct kept *all;
	size_t n, capacity;
	uint8_t *bytes;
	size_t n_bytes, bytes_capacity;
};

static void keeping_deinit(struct keeping *keeping)
{
	free(keeping->all);
	free(keeping->bytes);
}

static struct vmop_error *keep(void *arg, const struct vmop_chunk_row *row)
{
	struct keeping *keeping = arg;
	size_t n_bytes = keeping->n_bytes + row->cells_len_bytes;
	if (!vmop_array_reserve(keeping->all, keeping->capacity, keeping->n + 1) ||
	    !vmop_array_reserve(keeping->bytes, keeping->bytes_capacity, n_bytes))
		return &vmop_error_no_memory;
	memcpy(keeping->bytes + keeping->n_bytes, row->cells, row->cells_len_bytes);
	keeping->all[keeping->n++] = (struct kept){
		.interval = (uint32_t)row->interval,
		.place = (uint32_t)row->place,
		.task = row->task,
		.at = keeping->n_bytes,
		.len_bytes = row->cells_len_bytes,
	};
	keeping->n_bytes = n_bytes;
	return NULL;
}

/* Sort the chunks by place, in the given order (counting sort). Those of a place stay in the order
 * of time. */
static struct vmop_error *order_kept(const struct keeping *keeping, const uint32_t *order,
				     size_t n_places, const struct kept ***ret)
{
	const struct kept **sorted = malloc((keeping->n + 1) * sizeof(const struct kept *));
	_cleanup_free_ size_t *next = calloc(n_places + 1, sizeof(*next));
	if (!sorted || !next) {
		free(sorted);
		return &vmop_error_no_memory;
	}
	for (size_t i = 0; i < keeping->n; i++)
		next[keeping->all[i].place]++;
	for (size_t i = 0, at = 0; i < n_places; i++) {
		size_t count = next[order[i]];
		next[order[i]] = at;
		at += count;
	}
	for (size_t i = 0; i < keeping->n; i++)
		sorted[next[keeping->all[i].place]++] = &keeping->all[i];
	*ret = sorted;
	return NULL;
}

/* Chunks on their way to the caller. */
struct passing {
	const struct vmop_selection *selection;
	struct vmop_cells cells;
	struct vmop_stack_heap stacks;
	struct vmop_error *(*each)(void *arg, const struct vmop_db_chunk *chunk);
	void *arg;
};

/* Pass a chunk for each stack. */
static struct vmop_error *pass_stacks(struct passing *passing, struct vmop_db_chunk *chunk,
				      const uint8_t *blob, size_t len_bytes)
{
	struct vmop_stack_heap *stacks = &passing->stacks;
	struct vmop_cells *cells = &passing->cells;
	stacks->n = 0;
	struct vmop_error *err = vmop_db_unpacked(passing->selection->db,
						  vmop_stack_heap_add(stacks, blob, len_bytes));
	if (!err && !vmop_array_reserve(cells->all, cells->capacity, stacks->n))
		err = &vmop_error_no_memory;
	for (size_t i = 0; !err && i < stacks->n; i += chunk->n_cells) {
		chunk->key.stack = stacks->cells[i].stack;
		chunk->cells = cells->all;
		chunk->n_cells =
			vmop_stack_cells_split(stacks->cells + i, stacks->n - i, cells->all);
		err = passing->each(passing->arg, chunk);
	}
	return err;
}

static struct vmop_error *pass_chunk(struct passing *passing, const struct keeping *keeping,
				     const struct kept *kept)
{
	const struct vmop_selection *selection = passing->selection;
	const uint8_t *blob = keeping->bytes + kept->at;
	struct vmop_db_chunk chunk = {
		.key = selection->places[kept->place].key,
		.interval = &selection->intervals[kept->interval],
	};
	chunk.key.task = kept->task;
	if (vmop_pack_has_stacks(blob, kept->len_bytes))
		return pass_stacks(passing, &chunk, blob, kept->len_bytes);
	struct vmop_error *err = vmop_db_unpacked(
		selection->db, vmop_unpack_all(blob, kept->len_bytes, &passing->cells));
	chunk.cells = passing->cells.all;
	chunk.n_cells = passing->cells.n;
	return err ? err : passing->each(passing->arg, &chunk);
}

struct vmop_error *vmop_db_each_chunk(struct vmop_db *db, const struct vmop_db_filter *filter,
				      struct vmop_error *(*each)(void *arg,
								 const struct vmop_db_chunk *chunk),
				      void *arg)
{
	_cleanup_(vmop_selection_deinit) struct vmop_selection selection = {0};
	_cleanup_(keeping_deinit) struct keeping keeping = {0};
	_cleanup_free_ uint32_t *order = NULL;
	_cleanup_free_ const struct kept **sorted = NULL;
	struct passing passing = {.selection = &selection, .each = each, .arg = arg};
	struct vmop_error *err = vmop_selection_init(&selection, db, filter, false);
	if (!err)
		err = vmop_selection_each_row(&selection, true, keep, &keeping);
	if (!err)
		err = vmop_places_order(&selection, 0, &order);
	if (!err)
		err = order_kept(&keeping, order, selection.n_places, &sorted);
	for (size_t i = 0; !err && i < keeping.n; i++)
		err = pass_chunk(&passing, &keeping, sorted[i]);
	vmop_stack_heap_deinit(&passing.stacks);
	free(passing.cells.all);
	return err;
}

/* ---- pieces ---------------------------------------------------------------- */

/* Cells of a piece: few enough to stay in a processor's nearest cache until they are summed. */
#define PIECE_CELLS 512

struct piecing {
	const struct vmop_selection *selection;
	struct vmop_error *(*each)(void *arg, const struct vmop_db_chunk *piece);
	void *arg;
};

/* Return the row's key and interval. */
static struct vmop_db_chunk piece_of(const struct vmop_selection *selection,
				     const struct vmop_chunk_row *row)
{
	struct vmop_db_chunk piece = {
		.key = selection->places[row->place].key,
		.interval = &selection->intervals[row->interval],
	};
	piece.key.task = row->task;
	return piece;
}

/* Pass the pieces of a chunk with stacks. Each has cells of one stack. */
static struct vmop_error *pass_stack_pieces(const struct piecing *piecing,
					    const struct vmop_chunk_row *row)
{
	struct vmop_db_stack_cell stack_cells[PIECE_CELLS];
	struct vmop_db_cell cells[PIECE_CELLS];
	struct vmop_db_chunk piece = piece_of(piecing->selection, row);
	struct vmop_unpack_stacks unpack;
	enum vmop_unpack_result result = VMOP_UNPACK_BAD;
	struct vmop_error *err = NULL;
	if (vmop_unpack_stacks_begin(&unpack, row->cells, row->cells_len_bytes))
		result = VMOP_UNPACK_CELL;
	piece.cells = cells;
	while (!err && result == VMOP_UNPACK_CELL) {
		size_t n = 0;
		result = vmop_unpack_stacks_some(&unpack, stack_cells, PIECE_CELLS, &n);
		for (size_t i = 0; !err && i < n; i += piece.n_cells) {
			piece.key.stack = stack_cells[i].stack;
			piece.n_cells = vmop_stack_cells_split(stack_cells + i, n - i, cells);
			err = piecing->each(piecing->arg, &piece);
		}
	}
	if (err || result != VMOP_UNPACK_BAD)
		return err;
	return vmop_db_unpacked(piecing->selection->db, VMOP_UNPACK_CORRUPT);
}

static struct vmop_error *pass_pieces(void *arg, const struct vmop_chunk_row *row)
{
	const struct piecing *piecing = arg;
	if (row->has_stacks)
		return pass_stack_pieces(piecing, row);
	struct vmop_db_cell cells[PIECE_CELLS];
	struct vmop_db_chunk piece = piece_of(piecing->selection, row);
	struct vmop_unpack unpack;
	enum vmop_unpack_result result = VMOP_UNPACK_BAD;
	if (vmop_unpack_begin(&unpack, row->cells, row->cells_len_bytes))
		result = VMOP_UNPACK_CELL;
	piece.cells = cells;
	while (result == VMOP_UNPACK_CELL) {
		result = vmop_unpack_some(&unpack, cells, PIECE_CELLS, &piece.n_cells);
		if (result == VMOP_UNPACK_BAD || !piece.n_cells)
			break;
		struct vmop_error *err = piecing->each(piecing->arg, &piece);
		if (err)
			return err;
	}
	return vmop_db_unpacked(piecing->selection->db,
				result == VMOP_UNPACK_BAD ? VMOP_UNPACK_CORRUPT : VMOP_UNPACK_OK);
}

/* ---- batches of pieces ------------------------------------------------------- */

/*
 * Rows that wait to be passed by image. A reader's tables of one image then stay in a processor's
 * near caches, which halves the time of a walk over many images.
 */
#define BATCH_BYTES ((size_t)4 << 20) /* of packed cells */
#define BATCH_ROWS 32768

struct batching {
	struct piecing piecing;
	struct keeping keeping;
	uint32_t *order; /* of places */
};

static void batching_deinit(struct batching *batching)
{
	keeping_deinit(&batching->keeping);
	free(batching->order);
}

/* Pass the pieces of all rows that wait. */
static struct vmop_error *pass_batch(struct batching *batching)
{
	struct keeping *keeping = &batching->keeping;
	_cleanup_free_ const struct kept **sorted = NULL;
	struct vmop_error *err = order_kept(keeping, batching->order,
					    batching->piecing.selection->n_places, &sorted);
	for (size_t i = 0; !err && i < keeping->n; i++) {
		const struct vmop_chunk_row row = {
			.interval = sorted[i]->interval,
			.place = sorted[i]->place,
			.task = sorted[i]->task,
			.cells = keeping->bytes + sorted[i]->at,
			.cells_len_bytes = sorted[i]->len_bytes,
			.has_stacks = vmop_pack_has_stacks(keeping->bytes + sorted[i]->at,
							   sorted[i]->len_bytes),
		};
		err = pass_pieces(&batching->piecing, &row);
	}
	keeping->n = keeping->n_bytes = 0;
	return err;
}

static struct vmop_error *add_to_batch(void *arg, const struct vmop_chunk_row *row)
{
	struct batching *batching = arg;
	struct keeping *keeping = &batching->keeping;
	struct vmop_error *err = NULL;
	if (keeping->n == BATCH_ROWS ||
	    (keeping->n && keeping->n_bytes + row->cells_len_bytes > BATCH_BYTES))
		err = pass_batch(batching);
	return err ? err : keep(keeping, row);
}

static struct vmop_error *each_piece_by_image(const struct piecing *piecing)
{
	_cleanup_(batching_deinit) struct batching batching = {.piecing = *piecing};
	const struct vmop_selection *selection = piecing->selection;
	struct vmop_error *err = vmop_places_order(selection, 0, &batching.order);
	if (!err)
		err = vmop_selection_each_row(selection, true, add_to_batch, &batching);
	return err ? err : pass_batch(&batching);
}

struct vmop_error *vmop_db_each_piece(struct vmop_db *db, const struct vmop_db_filter *filter,
				      struct vmop_error *(*each)(void *arg,
								 const struct vmop_db_chunk *piece),
				      void *arg)
{
	_cleanup_(vmop_selection_deinit) struct vmop_selection selection = {0};
	bool in_any_order = filter && filter->needs_no_times;
	struct vmop_error *err = vmop_selection_init(&selection, db, filter, in_any_order);
	if (err)
		return err;
	struct piecing piecing = {.selection = &selection, .each = each, .arg = arg};
	return in_any_order ? each_piece_by_image(&piecing)
			    : vmop_selection_each_row(&selection, true, pass_pieces, &piecing);
}
