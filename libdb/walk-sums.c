// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reading chunks as totals and as sums of cells.  Cells whose stacks are kept apart may have a
 * million keys: they wait in a pile, and are sorted by key rather than looked up.
 */
#include <stdlib.h>
#include <string.h>

#include "libdb/db.h"
#include "libdb/filter.h"
#include "libdb/pile.h"
#include "libdb/place-order.h"
#include "libdb/stacks/cells.h"
#include "libdb/sum.h"
#include "libutil/array.h"

/* ---- totals ---------------------------------------------------------------- */

struct summing {
	const struct vmop_selection *selection;
	unsigned merge;
	/* For sums: see vmop_places_group. */
	const uint32_t *order, *groups, *ranks;
	struct vmop_sums sums;
	struct vmop_pile pile; /* chunks whose stacks are kept apart; key.place is a rank */
	struct vmop_error *(*each_total)(void *arg, const struct vmop_db_total *total);
	void *arg;
};

/* Totals in memory: at this number they are passed to the callback, and freed. */
#define TOTALS_AT_ONCE 500000

static struct vmop_sum_key key_of_row(const struct summing *summing,
				      const struct vmop_chunk_row *row)
{
	bool merges_task =
		(summing->merge & VMOP_DB_MERGE_TASKS) &&
		!vmop_task_row_id_equals(row->task, summing->selection->filter->task_apart);
	return (struct vmop_sum_key){
		.place = summing->groups ? summing->groups[row->place] : (uint32_t)row->place,
		.task = {merges_task ? 0 : row->task.number},
	};
}

static struct vmop_error *sum_at(struct summing *summing, const struct vmop_chunk_row *row,
				 struct vmop_sum **ret)
{
	struct vmop_sum_key key = key_of_row(summing, row);
	*ret = vmop_sums_at(&summing->sums, &key);
	if (!*ret && summing->sums.max_bytes)
		return vmop_db_unpacked(summing->selection->db, VMOP_UNPACK_LIMIT);
	return *ret ? NULL : &vmop_error_no_memory;
}

/* Return the key, with stack 0. */
static struct vmop_db_chunk_key key_of_sum(const struct summing *summing,
					   const struct vmop_sum_key *sum)
{
	struct vmop_db_chunk_key key = summing->selection->places[sum->place].key;
	key.task = sum->task;
	if (summing->merge & VMOP_DB_MERGE_CPUS)
		key.cpu = key.vcpu = -1;
	return key;
}

static struct vmop_error *pass_totals(struct summing *summing)
{
	struct vmop_error *err = NULL;
	for (struct vmop_sum *sum = summing->sums.all; !err && sum; sum = sum->hh.next) {
		struct vmop_db_total total = {
			.key = key_of_sum(summing, &sum->key),
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
	struct vmop_error *err = vmop_selection_init(&selection, db, filter, true);
	if (!err)
		err = vmop_selection_each_row(&selection, false, add_total, &summing);
	if (!err)
		err = pass_totals(&summing);
	vmop_sums_deinit(&summing.sums);
	return err;
}

/* Chunks on their way to a caller who wants the totals of each. */
struct interval_totals {
	const struct vmop_selection *selection;
	struct vmop_error *(*each)(void *arg, const struct vmop_db_interval *interval,
				   const struct vmop_db_total *total);
	void *arg;
};

static struct vmop_error *pass_row(void *arg, const struct vmop_chunk_row *row)
{
	const struct interval_totals *totals = arg;
	struct vmop_db_total total = {.key = totals->selection->places[row->place].key,
				      .samples = row->samples,
				      .weight_events = row->weight_events};
	total.key.task = row->task;
	return totals->each(totals->arg, &totals->selection->intervals[row->interval], &total);
}

struct vmop_error *vmop_db_each_interval_total(
	struct vmop_db *db, const struct vmop_db_filter *filter,
	struct vmop_error *(*each)(void *arg, const struct vmop_db_interval *interval,
				   const struct vmop_db_total *total),
	void *arg)
{
	_cleanup_(vmop_selection_deinit) struct vmop_selection selection = {0};
	struct interval_totals totals = {.selection = &selection, .each = each, .arg = arg};
	struct vmop_error *err = vmop_selection_init(&selection, db, filter, false);
	return err ? err : vmop_selection_each_row(&selection, false, pass_row, &totals);
}

/* ---- sums ------------------------------------------------------------------ */

static struct vmop_error *pile_cells(struct summing *summing, const struct vmop_chunk_row *row)
{
	struct vmop_sum_key key = key_of_row(summing, row);
	key.place = summing->ranks[key.place];
	bool is_added = vmop_pile_add(&summing->pile, &key, row->cells, row->cells_len_bytes);
	return is_added ? NULL : &vmop_error_no_memory;
}

static struct vmop_error *add_cells(void *arg, const struct vmop_chunk_row *row)
{
	struct summing *summing = arg;
	struct vmop_sum *sum;
	if (row->has_stacks && !(summing->merge & VMOP_DB_MERGE_STACKS))
		return pile_cells(summing, row);
	struct vmop_error *err = sum_at(summing, row, &sum);
	if (err)
		return err;
	return vmop_db_unpacked(
		summing->selection->db,
		vmop_sums_add_packed(&summing->sums, sum, row->cells, row->cells_len_bytes));
}

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Compare keys whose places are ranks. */
static int compare_ranked(const struct vmop_sum_key *a, const struct vmop_sum_key *b)
{
	int order = compare_u64(a->place, b->place);
	return order ? order : compare_u64(a->task.number, b->task.number);
}

static struct vmop_sum_key ranked(const struct vmop_sum *sum, const uint32_t *ranks)
{
	return (struct vmop_sum_key){.place = ranks[sum->key.place], .task = sum->key.task};
}

static int compare_sums(const void *a, const void *b, void *arg)
{
	const struct vmop_sum_key x = ranked(*(struct vmop_sum *const *)a, arg);
	const struct vmop_sum_key y = ranked(*(struct vmop_sum *const *)b, arg);
	return compare_ranked(&x, &y);
}

/* The sums on their way to the caller, by key: those without stacks, and the pile's. */
struct passing {
	const struct summing *summing;
	struct vmop_sums *sums;
	struct vmop_sum **plain;
	size_t n_plain, next; /* next: the first that is not passed */
	struct vmop_cells cells;
	struct vmop_error *(*each)(void *arg, const struct vmop_db_sum *sum);
	void *arg;
};

static struct vmop_error *pass_plain(struct passing *passing)
{
	struct vmop_sum *plain = passing->plain[passing->next++];
	struct vmop_db_sum sum = {
		.key = key_of_sum(passing->summing, &plain->key),
		.cells = vmop_sum_sort(plain),
		.n_cells = plain->n_cells,
	};
	return passing->each(passing->arg, &sum);
}

/* Compare the next sum without stacks with a key of the pile. */
static int compare_next(const struct passing *passing, const struct vmop_sum_key *key)
{
	if (passing->next == passing->n_plain)
		return 1;
	const struct vmop_sum_key next =
		ranked(passing->plain[passing->next], passing->summing->ranks);
	return compare_ranked(&next, key);
}

/* Pass the first cells of a pile's sum, which share a stack, and set *ret_n to their number. */
static struct vmop_error *pass_stack(struct passing *passing, const struct vmop_sum_key *key,
				     const struct vmop_db_stack_cell *stack_cells, size_t n,
				     size_t *ret_n)
{
	struct vmop_cells *cells = &passing->cells;
	const struct summing *summing = passing->summing;
	if (!vmop_array_reserve(cells->all, cells->capacity, n))
		return &vmop_error_no_memory;
	cells->n = *ret_n = vmop_stack_cells_split(stack_cells, n, cells->all);
	/* Cells without a stack are also in chunks without stacks: one key is passed once. */
	if (!stack_cells->stack.number && compare_next(passing, key) == 0) {
		enum vmop_unpack_error error = vmop_sums_add_cells(
			passing->sums, passing->plain[passing->next], cells->all, cells->n);
		return error ? vmop_db_unpacked(summing->selection->db, error)
			     : pass_plain(passing);
	}
	const struct vmop_sum_key of_group = {summing->order[key->place], key->task};
	struct vmop_db_sum sum = {
		.key = key_of_sum(summing, &of_group),
		.cells = cells->all,
		.n_cells = cells->n,
	};
	sum.key.stack = stack_cells->stack;
	return passing->each(passing->arg, &sum);
}

static struct vmop_error *pass_piled(void *arg, const struct vmop_pile_sum *piled)
{
	struct passing *passing = arg;
	struct vmop_error *err = NULL;
	bool begins_without_stack = !piled->stack_cells[0].stack.number;
	while (!err && compare_next(passing, &piled->key) < !begins_without_stack)
		err = pass_plain(passing);
	for (size_t i = 0, n; !err && i < piled->n; i += n)
		err = pass_stack(passing, &piled->key, piled->stack_cells + i, piled->n - i, &n);
	return err;
}

/* Set passing->plain to the sums without stacks, in order. */
static struct vmop_error *order_plain(struct passing *passing)
{
	const struct vmop_sums *sums = passing->sums;
	size_t n = HASH_COUNT(sums->all);
	passing->plain = malloc((n + 1) * sizeof(*passing->plain));
	if (!passing->plain)
		return &vmop_error_no_memory;
	for (struct vmop_sum *sum = sums->all; sum; sum = sum->hh.next)
		passing->plain[passing->n_plain++] = sum;
	qsort_r(passing->plain, n, sizeof(*passing->plain), compare_sums,
		(void *)passing->summing->ranks);
	return NULL;
}

static struct vmop_error *pass_all(struct summing *summing,
				   struct vmop_error *(*each)(void *, const struct vmop_db_sum *),
				   void *arg)
{
	struct passing passing = {
		.summing = summing, .sums = &summing->sums, .each = each, .arg = arg};
	struct vmop_error *err = order_plain(&passing);
	if (!err)
		err = vmop_pile_each(&summing->pile, summing->selection->db, VMOP_DB_SUMS_MAX_BYTES,
				     pass_piled, &passing);
	while (!err && passing.next < passing.n_plain)
		err = pass_plain(&passing);
	free(passing.plain);
	free(passing.cells.all);
	return err;
}

struct vmop_error *
vmop_db_each_sum(struct vmop_db *db, const struct vmop_db_filter *filter, unsigned merge,
		 struct vmop_error *(*each)(void *arg, const struct vmop_db_sum *sum), void *arg)
{
	_cleanup_(vmop_selection_deinit) struct vmop_selection selection = {0};
	_cleanup_free_ uint32_t *order = NULL, *groups = NULL;
	struct vmop_error *err = vmop_selection_init(&selection, db, filter, true);
	if (!err)
		err = vmop_places_order(&selection, merge, &order);
	if (err)
		return err;
	groups = malloc((2 * selection.n_places + 1) * sizeof(*groups));
	if (!groups)
		return &vmop_error_no_memory;
	uint32_t *ranks = groups + selection.n_places;
	vmop_places_group(&selection, order, merge, groups, ranks);
	struct summing summing = {.selection = &selection,
				  .merge = merge,
				  .order = order,
				  .groups = groups,
				  .ranks = ranks,
				  .sums.max_bytes = VMOP_DB_SUMS_MAX_BYTES};
	err = vmop_selection_each_row(&selection, true, add_cells, &summing);
	if (!err)
		err = vmop_db_unpacked(db, vmop_sums_add_waiting(&summing.sums));
	if (!err)
		err = pass_all(&summing, each, arg);
	vmop_sums_deinit(&summing.sums);
	vmop_pile_deinit(&summing.pile);
	return err;
}
