// SPDX-License-Identifier: GPL-2.0-or-later
/* Reading chunks: as totals, sums, whole chunks or pieces. */
#include <stdlib.h>
#include <string.h>

#include "libdb/db.h"
#include "libdb/filter.h"
#include "libdb/sum.h"
#include "libutil/array.h"

/* ---- totals and sums ----------------------------------------------------- */

struct summing {
	const struct vmop_selection *selection;
	unsigned merge;
	const uint32_t *groups; /* by place: the first place that equals it when merged */
	struct vmop_sums sums;
	struct vmop_error *(*each_total)(void *arg, const struct vmop_db_total *total);
	void *arg;
};

/* Totals in memory: at this number they are passed to the callback, and freed. */
#define TOTALS_AT_ONCE 500000

static struct vmop_error *sum_at(struct summing *summing, const struct vmop_chunk_row *row,
				 struct vmop_sum **ret)
{
	bool merges_task =
		(summing->merge & VMOP_DB_MERGE_TASKS) &&
		!vmop_task_row_id_equals(row->task, summing->selection->filter->task_apart);
	struct vmop_sum_key key = {
		.place = summing->groups ? summing->groups[row->place] : (uint32_t)row->place,
		.task = {merges_task ? 0 : row->task.number},
		.stack = {summing->merge & VMOP_DB_MERGE_STACKS ? 0 : row->stack.number},
	};
	*ret = vmop_sums_at(&summing->sums, &key);
	if (!*ret && summing->sums.max_bytes)
		return vmop_db_unpacked(summing->selection->db, VMOP_UNPACK_LIMIT);
	return *ret ? NULL : &vmop_error_no_memory;
}

static struct vmop_error *add_cells(void *arg, const struct vmop_chunk_row *row)
{
	struct summing *summing = arg;
	struct vmop_sum *sum;
	struct vmop_error *err = sum_at(summing, row, &sum);
	if (err)
		return err;
	return vmop_db_unpacked(
		summing->selection->db,
		vmop_sums_add_packed(&summing->sums, sum, row->cells, row->cells_len_bytes));
}

static struct vmop_db_chunk_key key_of_sum(const struct summing *summing,
					   const struct vmop_sum *sum)
{
	struct vmop_db_chunk_key key = summing->selection->places[sum->key.place].key;
	key.task = sum->key.task;
	key.stack = sum->key.stack;
	if (summing->merge & VMOP_DB_MERGE_CPUS)
		key.cpu = key.vcpu = -1;
	return key;
}

static struct vmop_error *pass_totals(struct summing *summing)
{
	struct vmop_error *err = NULL;
	for (struct vmop_sum *sum = summing->sums.all; !err && sum; sum = sum->hh.next) {
		struct vmop_db_total total = {
			.key = key_of_sum(summing, sum),
			.samples = sum->samples,
			.weight_events = sum->weight_events,
		};
		err = summing->each_total(summing->arg, &total);
	}
	vmop_sums_deinit(&summing->sums);
	return err;
}

static struct vmop_error *add_total(void *arg, const struct vmop_chunk_row *row)
{
	struct summing *summing = arg;
	struct vmop_sum *sum;
	struct vmop_error *err = NULL;
	if (HASH_COUNT(summing->sums.all) >= TOTALS_AT_ONCE)
		err = pass_totals(summing);
	if (!err)
		err = sum_at(summing, row, &sum);
	if (!err)
		vmop_sum_add_total(sum, row->samples, row->weight_events);
	return err;
}

struct vmop_error *vmop_db_each_total(struct vmop_db *db, const struct vmop_db_filter *filter,
				      struct vmop_error *(*each)(void *arg,
								 const struct vmop_db_total *total),
				      void *arg)
{
	_cleanup_(vmop_selection_deinit) struct vmop_selection selection = {0};
	struct summing summing = {.selection = &selection, .each_total = each, .arg = arg};
	struct vmop_error *err = vmop_selection_init(&selection, db, filter);
	if (!err)
		err = vmop_selection_each_row(&selection, false, add_total, &summing);
	if (!err)
		err = pass_totals(&summing);
	vmop_sums_deinit(&summing.sums);
	return err;
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Compare by image first; the rest groups equal places and makes the order deterministic. */
static int compare_places(const struct vmop_place *x, const struct vmop_place *y, unsigned merge)
{
	const struct vmop_db_chunk_key *a = &x->key, *b = &y->key;
	int order = compare_u64(a->image.number, b->image.number);
	if (!order)
		order = compare_u64(a->domain.number, b->domain.number);
	if (!order)
		order = compare_u64(a->event.number, b->event.number);
	if (!order)
		order = compare_u64(a->billed.number, b->billed.number);
	if (!order)
		order = compare_u64((uint64_t)a->bill << 16 | a->mode << 8 | a->certainty,
				    (uint64_t)b->bill << 16 | b->mode << 8 | b->certainty);
	if (!order && !(merge & VMOP_DB_MERGE_CPUS))
		order = compare_u64((uint64_t)(uint32_t)a->vcpu << 32 | (uint32_t)a->cpu,
				    (uint64_t)(uint32_t)b->vcpu << 32 | (uint32_t)b->cpu);
	return order;
}

struct ordering {
	const struct vmop_place *places;
	unsigned merge;
};

static int compare_indices(const void *a, const void *b, void *arg)
{
	const struct ordering *ordering = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = compare_places(&ordering->places[x], &ordering->places[y], ordering->merge);
	return order ? order : compare_u64(x, y);
}

/* Set *ret to the indices of all places in the order of compare_places. The caller frees it. */
static struct vmop_error *order_places(const struct vmop_selection *selection, unsigned merge,
				       uint32_t **ret)
{
	struct ordering ordering = {.places = selection->places, .merge = merge};
	uint32_t *order = malloc((selection->n_places + 1) * sizeof(*order));
	if (!order)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < selection->n_places; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, selection->n_places, sizeof(*order), compare_indices, &ordering);
	*ret = order;
	return NULL;
}

/*
 * Set groups[i] to the first place in the order that equals place i when merged, and ranks[i] to
 * the position of place i in the order.
 */
static void group_places(const struct vmop_selection *selection, const uint32_t *order,
			 unsigned merge, uint32_t *groups, uint32_t *ranks)
{
	const struct vmop_place *places = selection->places;
	for (size_t i = 0; i < selection->n_places; i++) {
		bool same = i > 0 &&
			    compare_places(&places[order[i - 1]], &places[order[i]], merge) == 0;
		groups[order[i]] = same ? groups[order[i - 1]] : order[i];
		ranks[order[i]] = (uint32_t)i;
	}
}

static int compare_sums(const void *a, const void *b, void *arg)
{
	const uint32_t *ranks = arg;
	const struct vmop_sum_key *x = &(*(struct vmop_sum *const *)a)->key;
	const struct vmop_sum_key *y = &(*(struct vmop_sum *const *)b)->key;
	int order = compare_u64(ranks[x->place], ranks[y->place]);
	return order ? order
		     : compare_u64((uint64_t)x->task.number << 32 | x->stack.number,
				   (uint64_t)y->task.number << 32 | y->stack.number);
}

static struct vmop_error *
each_sum_ordered(struct summing *summing, uint32_t *ranks,
		 struct vmop_error *(*each)(void *, const struct vmop_db_sum *), void *arg)
{
	size_t n = HASH_COUNT(summing->sums.all), i = 0;
	_cleanup_free_ struct vmop_sum **ordered = malloc((n + 1) * sizeof(struct vmop_sum *));
	if (!ordered)
		return &vmop_error_no_memory;
	for (struct vmop_sum *sum = summing->sums.all; sum; sum = sum->hh.next)
		ordered[i++] = sum;
	qsort_r(ordered, n, sizeof(*ordered), compare_sums, ranks);
	struct vmop_error *err = NULL;
	for (i = 0; !err && i < n; i++) {
		struct vmop_db_sum sum = {
			.key = key_of_sum(summing, ordered[i]),
			.cells = vmop_sum_sort(ordered[i]),
			.n_cells = ordered[i]->n_cells,
		};
		err = each(arg, &sum);
	}
	return err;
}

struct vmop_error *
vmop_db_each_sum(struct vmop_db *db, const struct vmop_db_filter *filter, unsigned merge,
		 struct vmop_error *(*each)(void *arg, const struct vmop_db_sum *sum), void *arg)
{
	_cleanup_(vmop_selection_deinit) struct vmop_selection selection = {0};
	_cleanup_free_ uint32_t *order = NULL, *groups = NULL;
	struct vmop_error *err = vmop_selection_init(&selection, db, filter);
	if (!err)
		err = order_places(&selection, merge, &order);
	if (err)
		return err;
	groups = malloc((2 * selection.n_places + 1) * sizeof(*groups));
	if (!groups)
		return &vmop_error_no_memory;
	uint32_t *ranks = groups + selection.n_places;
	group_places(&selection, order, merge, groups, ranks);
	struct summing summing = {.selection = &selection,
				  .merge = merge,
				  .groups = groups,
				  .sums.max_bytes = VMOP_DB_SUMS_MAX_BYTES};
	err = vmop_selection_each_row(&selection, true, add_cells, &summing);
	if (!err)
		err = vmop_db_unpacked(db, vmop_sums_add_waiting(&summing.sums));
	if (!err)
		err = each_sum_ordered(&summing, ranks, each, arg);
	vmop_sums_deinit(&summing.sums);
	return err;
}

/* ---- whole chunks -------------------------------------------------------- */

/*
 * The file has chunks in the order of time, and the caller gets them by image.  So all are kept,
 * packed, and then passed to the callback in the order of their places.
 */
struct kept {
	uint32_t interval, place; /* indices into the selection's */
	struct vmop_task_row_id task;
	struct vmop_stack_id stack;
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
		.stack = row->stack,
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

static struct vmop_error *
pass_chunk(const struct vmop_selection *selection, const struct keeping *keeping,
	   const struct kept *kept, struct vmop_cells *cells,
	   struct vmop_error *(*each)(void *, const struct vmop_db_chunk *), void *arg)
{
	struct vmop_error *err = vmop_db_unpacked(
		selection->db, vmop_unpack_all(keeping->bytes + kept->at, kept->len_bytes, cells));
	if (err)
		return err;
	struct vmop_db_chunk chunk = {
		.key = selection->places[kept->place].key,
		.interval = &selection->intervals[kept->interval],
		.cells = cells->all,
		.n_cells = cells->n,
	};
	chunk.key.task = kept->task;
	chunk.key.stack = kept->stack;
	return each(arg, &chunk);
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
	struct vmop_cells cells = {0};
	struct vmop_error *err = vmop_selection_init(&selection, db, filter);
	if (!err)
		err = vmop_selection_each_row(&selection, true, keep, &keeping);
	if (!err)
		err = order_places(&selection, 0, &order);
	if (!err)
		err = order_kept(&keeping, order, selection.n_places, &sorted);
	for (size_t i = 0; !err && i < keeping.n; i++)
		err = pass_chunk(&selection, &keeping, sorted[i], &cells, each, arg);
	free(cells.all);
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

static struct vmop_error *pass_pieces(void *arg, const struct vmop_chunk_row *row)
{
	const struct piecing *piecing = arg;
	const struct vmop_selection *selection = piecing->selection;
	struct vmop_db_cell cells[PIECE_CELLS];
	struct vmop_db_chunk piece = {
		.key = selection->places[row->place].key,
		.interval = &selection->intervals[row->interval],
		.cells = cells,
	};
	piece.key.task = row->task;
	piece.key.stack = row->stack;
	struct vmop_unpack unpack;
	enum vmop_unpack_result result = VMOP_UNPACK_BAD;
	if (vmop_unpack_begin(&unpack, row->cells, row->cells_len_bytes))
		result = VMOP_UNPACK_CELL;
	while (result == VMOP_UNPACK_CELL) {
		result = vmop_unpack_some(&unpack, cells, PIECE_CELLS, &piece.n_cells);
		if (result == VMOP_UNPACK_BAD || !piece.n_cells)
			break;
		struct vmop_error *err = piecing->each(piecing->arg, &piece);
		if (err)
			return err;
	}
	return vmop_db_unpacked(selection->db,
				result == VMOP_UNPACK_BAD ? VMOP_UNPACK_CORRUPT : VMOP_UNPACK_OK);
}

struct vmop_error *vmop_db_each_piece(struct vmop_db *db, const struct vmop_db_filter *filter,
				      struct vmop_error *(*each)(void *arg,
								 const struct vmop_db_chunk *piece),
				      void *arg)
{
	_cleanup_(vmop_selection_deinit) struct vmop_selection selection = {0};
	struct vmop_error *err = vmop_selection_init(&selection, db, filter);
	if (err)
		return err;
	struct piecing piecing = {.selection = &selection, .each = each, .arg = arg};
	return vmop_selection_each_row(&selection, true, pass_pieces, &piecing);
}
