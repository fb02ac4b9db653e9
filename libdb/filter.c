// SPDX-License-Identifier: GPL-2.0-or-later
#include "libdb/filter.h"

#include <stdlib.h>
#include <string.h>

#include "libdb/db.h"
#include "libdb/schema.h"
#include "libdb/stacks/cells.h"
#include "libdb/summaries/summary.h"
#include "libutil/array.h"

/* Compare two ids of one table: each of them is a number, whatever its type. */
static int compare_ids(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

static int compare_i32(const void *a, const void *b)
{
	int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
	return x < y ? -1 : x > y;
}

/* Define has_NOUN(): return whether a sorted list has the id; an empty list has all. */
#define HAS(noun)                                                                                  \
	static bool has_##noun(const struct vmop_##noun##_id *list, size_t n,                      \
			       struct vmop_##noun##_id id)                                         \
	{                                                                                          \
		return n == 0 || bsearch(&id, list, n, sizeof(*list), compare_ids);                \
	}
HAS(event)
HAS(domain)
HAS(task_row)
HAS(image)
#undef HAS

static bool has_i32(const int32_t *list, size_t n, int32_t value)
{
	return n == 0 || bsearch(&value, list, n, sizeof(*list), compare_i32);
}

/* Sort the lists in place.  db.h documents this; const there is for the callers of walks. */
static void sort_lists(const struct vmop_db_filter *filter)
{
	const struct {
		const void *ids;
		size_t n;
	} lists[] = {
		{filter->events, filter->n_events}, {filter->domains, filter->n_domains},
		{filter->billed, filter->n_billed}, {filter->tasks, filter->n_tasks},
		{filter->images, filter->n_images},
	};
	for (size_t i = 0; i < sizeof(lists) / sizeof(lists[0]); i++)
		if (lists[i].n > 1)
			qsort((void *)lists[i].ids, lists[i].n, sizeof(uint32_t), compare_ids);
	if (filter->n_cpus > 1)
		qsort((void *)filter->cpus, filter->n_cpus, sizeof(int32_t), compare_i32);
	if (filter->n_vcpus > 1)
		qsort((void *)filter->vcpus, filter->n_vcpus, sizeof(int32_t), compare_i32);
}

/* Return whether an omission covers such chunks; interval NULL: at any time. */
static bool is_omitted(const struct vmop_db_filter *filter, const struct vmop_db_chunk_key *key,
		       const struct vmop_db_interval *interval)
{
	for (size_t i = 0; i < filter->n_omissions; i++) {
		const struct vmop_db_omission *omission = &filter->omissions[i];
		uint64_t middle_ns = interval ? interval->start_ns + interval->len_ns / 2 : 0;
		if (interval && (middle_ns < omission->from_ns || middle_ns >= omission->to_ns))
			continue;
		if (omission->n_events &&
		    has_event(omission->events, omission->n_events, key->event) &&
		    has_domain(omission->domains, omission->n_domains, key->domain))
			return true;
	}
	return false;
}

static bool place_passes(const struct vmop_db_filter *filter, const struct vmop_db_chunk_key *key)
{
	return has_event(filter->events, filter->n_events, key->event) &&
	       has_domain(filter->domains, filter->n_domains, key->domain) &&
	       has_domain(filter->billed, filter->n_billed, key->billed) &&
	       has_image(filter->images, filter->n_images, key->image) &&
	       has_i32(filter->cpus, filter->n_cpus, key->cpu) &&
	       has_i32(filter->vcpus, filter->n_vcpus, key->vcpu);
}

bool vmop_db_filter_passes(const struct vmop_db_filter *filter, const struct vmop_db_chunk_key *key)
{
	return place_passes(filter, key) && has_task_row(filter->tasks, filter->n_tasks, key->task);
}

struct gather {
	struct vmop_selection *selection;
	size_t capacity;
};

static struct vmop_error *add_interval(void *arg, const struct vmop_db_interval *interval)
{
	struct gather *gather = arg;
	struct vmop_selection *selection = gather->selection;
	const struct vmop_db_filter *filter = selection->filter;
	if (interval->id > VMOP_SCHEMA_INTERVAL_MAX)
		return NULL; /* no chunk id can contain it */
	if (interval->id <= filter->after_interval)
		return NULL;
	if (interval->start_ns + interval->len_ns <= filter->from_ns && filter->from_ns > 0)
		return NULL;
	if (filter->to_ns && interval->start_ns >= filter->to_ns)
		return NULL;
	if (!vmop_array_reserve(selection->intervals, gather->capacity, selection->n_intervals + 1))
		return &vmop_error_no_memory;
	selection->intervals[selection->n_intervals++] = *interval;
	return NULL;
}

/* ---- summaries in the place of intervals ------------------------------------- */

struct covering {
	struct vmop_selection *selection;
	bool *is_covered;		/* by interval */
	struct vmop_db_interval *spans; /* the valid summaries */
	size_t n_spans, capacity;
};

static struct vmop_error *cover(void *arg, const struct vmop_summary *summary)
{
	struct covering *covering = arg;
	const struct vmop_selection *selection = covering->selection;
	size_t at, n;
	if (summary->first <= selection->filter->after_interval)
		return NULL; /* it covers some of them */
	if (!vmop_summary_is_valid(summary, selection->intervals, selection->n_intervals, &at, &n))
		return NULL;
	/* Summaries of one file do not overlap. */
	if (covering->is_covered[at] || covering->is_covered[at + n - 1])
		return vmop_db_corrupt(selection->db, "a row of the table summary");
	if (!vmop_array_reserve(covering->spans, covering->capacity, covering->n_spans + 1))
		return &vmop_error_no_memory;
	covering->spans[covering->n_spans++] = summary->span;
	memset(covering->is_covered + at, true, n * sizeof(bool));
	return NULL;
}

static bool add_range(struct vmop_selection *selection, size_t *capacity, uint32_t first,
		      uint32_t last)
{
	if (!vmop_array_reserve(selection->ranges, *capacity, selection->n_ranges + 1))
		return false;
	selection->ranges[selection->n_ranges++] =
		(struct vmop_selected_range){.first = first, .last = last};
	return true;
}

/* Replace the covered intervals by the summaries, and find the ranges that are left to read. */
static struct vmop_error *replace_covered(struct covering *covering)
{
	struct vmop_selection *selection = covering->selection;
	size_t n_all = selection->n_intervals, n = 0, capacity = 0;
	struct vmop_db_interval *intervals =
		calloc(n_all + covering->n_spans + 1, sizeof(*intervals));
	bool begins = true, is_good = intervals != NULL;
	for (size_t i = 0; i < n_all && is_good; i++) {
		uint32_t id = selection->intervals[i].id;
		if (covering->is_covered[i]) {
			begins = true;
			continue;
		}
		intervals[n++] = selection->intervals[i];
		if (begins)
			is_good = add_range(selection, &capacity, id, id);
		else
			selection->ranges[selection->n_ranges - 1].last = id;
		begins = false;
	}
	for (size_t i = 0; i < covering->n_spans && is_good; i++) {
		intervals[n++] = covering->spans[i];
		is_good = add_range(selection, &capacity, covering->spans[i].id,
				    covering->spans[i].id);
	}
	if (!is_good) {
		free(intervals);
		return &vmop_error_no_memory;
	}
	free(selection->intervals);
	selection->intervals = intervals;
	selection->n_intervals = n;
	return NULL;
}

static struct vmop_error *find_ranges(struct vmop_selection *selection, bool may_sum)
{
	struct covering covering = {.selection = selection};
	covering.is_covered = calloc(selection->n_intervals + 1, sizeof(bool));
	struct vmop_error *err = covering.is_covered ? NULL : &vmop_error_no_memory;
	/* An omission covers some intervals of a summary, and not others. */
	if (!err && may_sum && !selection->filter->n_omissions)
		err = vmop_summaries_each(selection->db, cover, &covering);
	if (!err)
		err = replace_covered(&covering);
	free(covering.is_covered);
	free(covering.spans);
	return err;
}

/* ---- the selection ------------------------------------------------------------- */

static const struct vmop_db_filter everything;

struct vmop_error *vmop_selection_init(struct vmop_selection *selection, struct vmop_db *db,
				       const struct vmop_db_filter *filter, bool may_sum)
{
	*selection = (struct vmop_selection){.filter = filter ? filter : &everything, .db = db};
	sort_lists(selection->filter);
	struct vmop_error *err = vmop_db_allow_work(db);
	if (!err && sqlite3_get_autocommit(db->sqlite)) {
		err = vmop_db_begin_snapshot(db);
		selection->holds_snapshot = !err;
	}
	if (!err)
		err = vmop_places_read(db, &selection->places, &selection->n_places);
	if (err)
		return err;
	selection->place_passes = calloc(selection->n_places + 1, sizeof(bool));
	selection->place_may_be_omitted = calloc(selection->n_places + 1, sizeof(bool));
	if (!selection->place_passes || !selection->place_may_be_omitted)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < selection->n_places; i++) {
		const struct vmop_db_chunk_key *key = &selection->places[i].key;
		bool may_be = is_omitted(selection->filter, key, NULL);
		selection->place_may_be_omitted[i] = may_be;
		selection->place_passes[i] = place_passes(selection->filter, key) &&
					     (may_be || !selection->filter->only_omitted);
	}
	struct gather gather = {.selection = selection};
	err = vmop_db_each_interval(db, add_interval, &gather);
	return err ? err : find_ranges(selection, may_sum);
}

void vmop_selection_deinit(struct vmop_selection *selection)
{
	/* Committing a transaction that only read can't fail. */
	if (selection->holds_snapshot)
		sqlite3_exec(selection->db->sqlite, "COMMIT", NULL, NULL, NULL);
	free(selection->places);
	free(selection->place_passes);
	free(selection->place_may_be_omitted);
	free(selection->intervals);
	free(selection->ranges);
}

/*
 * The walk does not step from row to row.  The columns are arguments of an aggregate function,
 * vmop_visit(), which SQLite calls for every row within one step.  This saves a quarter of the
 * time: the cost of each step and column.
 */
enum argument {
	ARGUMENT_ID,
	ARGUMENT_PLACE,
	ARGUMENT_TASK,
	ARGUMENT_STACK,
	ARGUMENT_SAMPLES,
	ARGUMENT_WEIGHT,
	ARGUMENT_CELLS, /* absent from walks over totals */
};

struct vmop_visit {
	const struct vmop_selection *selection;
	struct vmop_error *(*each)(void *arg, const struct vmop_chunk_row *row);
	void *arg;
	size_t at;	 /* interval of the previous row */
	int64_t last_id; /* of the previous row */
	/* Many rows of a hostile file may refer to the same pages. */
	uint64_t size_bytes, read_bytes;
	struct vmop_error *err;
};

static uint64_t argument(sqlite3_value *value, uint64_t max, bool *corrupt)
{
	int64_t number = sqlite3_value_int64(value);
	*corrupt |= number < 0 || (uint64_t)number > max;
	return (uint64_t)number;
}

/* Check the row against the filter, before its blob is read. */
static struct vmop_error *read_row(struct vmop_visit *visit, int argc, sqlite3_value **argv,
				   struct vmop_chunk_row *row, bool *ret_passes)
{
	const struct vmop_selection *selection = visit->selection;
	const struct vmop_db_filter *filter = selection->filter;
	bool corrupt = false;
	row->place =
		vmop_places_find(selection->places, selection->n_places,
				 (uint32_t)argument(argv[ARGUMENT_PLACE], UINT32_MAX, &corrupt));
	row->task.number = (uint32_t)argument(argv[ARGUMENT_TASK], UINT32_MAX, &corrupt);
	row->has_stacks = argument(argv[ARGUMENT_STACK], 1, &corrupt);
	row->samples = argument(argv[ARGUMENT_SAMPLES], INT64_MAX, &corrupt);
	row->weight_events = argument(argv[ARGUMENT_WEIGHT], INT64_MAX, &corrupt);
	if (corrupt || row->place == SIZE_MAX)
		return vmop_db_corrupt(selection->db, "a row of the table chunk");
	*ret_passes = selection->place_passes[row->place] &&
		      has_task_row(filter->tasks, filter->n_tasks, row->task);
	if (*ret_passes && selection->place_may_be_omitted[row->place])
		*ret_passes = filter->only_omitted ==
			      is_omitted(filter, &selection->places[row->place].key,
					 &selection->intervals[row->interval]);
	if (!*ret_passes || argc <= ARGUMENT_CELLS)
		return NULL;
	row->cells = sqlite3_value_blob(argv[ARGUMENT_CELLS]);
	row->cells_len_bytes = (size_t)sqlite3_value_bytes(argv[ARGUMENT_CELLS]);
	visit->read_bytes += row->cells_len_bytes;
	if (!row->cells)
		return vmop_db_corrupt(selection->db, "a chunk without cells");
	if (row->has_stacks != vmop_pack_has_stacks(row->cells, row->cells_len_bytes))
		return vmop_db_corrupt(selection->db, "a chunk's cells");
	if (visit->read_bytes > visit->size_bytes)
		return vmop_db_corrupt(selection->db, "chunks larger than the file");
	return NULL;
}

/* Return whether the interval is selected. Rows and selected intervals both ascend. */
static bool is_selected(struct vmop_visit *visit, int64_t interval)
{
	const struct vmop_selection *selection = visit->selection;
	while (visit->at < selection->n_intervals && selection->intervals[visit->at].id < interval)
		visit->at++;
	return visit->at < selection->n_intervals && selection->intervals[visit->at].id == interval;
}

static void visit_step(sqlite3_context *context, int argc, sqlite3_value **argv)
{
	struct vmop_db *db = sqlite3_user_data(context);
	struct vmop_visit *visit = db->visit;
	if (!visit || visit->err)
		return;
	int64_t id = sqlite3_value_int64(argv[ARGUMENT_ID]);
	bool is_above = id > visit->last_id; /* otherwise pages are in the table's tree twice */
	visit->last_id = id;
	if (!is_above) {
		visit->err = vmop_db_corrupt(db, "a row of the table chunk");
		sqlite3_result_error(context, "stopped", -1);
		return;
	}
	if (!is_selected(visit, id >> VMOP_SCHEMA_CHUNK_BITS))
		return;
	struct vmop_chunk_row row = {.interval = visit->at};
	bool passes = false;
	visit->err = read_row(visit, argc, argv, &row, &passes);
	if (!visit->err && passes)
		visit->err = visit->each(visit->arg, &row);
	if (visit->err)
		sqlite3_result_error(context, "stopped", -1); /* stops the walk */
}

static void visit_final(sqlite3_context *context)
{
	sqlite3_result_null(context);
}

/* Define the SQL function vmop_visit(), once for each connection. */
static struct vmop_error *define_visit(struct vmop_db *db)
{
	int rc = SQLITE_OK;
	if (db->has_visit_function)
		return NULL;
	for (int argc = ARGUMENT_CELLS; rc == SQLITE_OK && argc <= ARGUMENT_CELLS + 1; argc++)
		rc = sqlite3_create_function_v2(db->sqlite, "vmop_visit", argc,
						SQLITE_UTF8 | SQLITE_DIRECTONLY, db, NULL,
						visit_step, visit_final, NULL);
	db->has_visit_function = rc == SQLITE_OK;
	return rc == SQLITE_OK ? NULL : vmop_db_sqlite_error(db, rc);
}

static struct vmop_error *run_visit(struct vmop_visit *visit, sqlite3_stmt *stmt)
{
	struct vmop_db *db = visit->selection->db;
	struct vmop_visit *outer = db->visit;
	bool row;
	struct vmop_error *err = vmop_db_measure(db, &visit->size_bytes);
	if (err)
		return err;
	db->visit = visit;
	err = vmop_db_step(db, stmt, &row);
	db->visit = outer;
	if (!visit->err)
		return err;
	vmop_error_destroy(err); /* only that the walk stopped */
	return visit->err;
}

struct vmop_error *
vmop_selection_each_row(const struct vmop_selection *selection, bool with_cells,
			struct vmop_error *(*each)(void *arg, const struct vmop_chunk_row *row),
			void *arg)
{
	if (selection->n_intervals == 0)
		return NULL;
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	struct vmop_error *err = define_visit(selection->db);
	if (err)
		return err;
	err = vmop_db_prepare(
		selection->db,
		with_cells ? "SELECT vmop_visit(id, place, task, stack, samples, weight, cells)"
			     " FROM chunk WHERE id >= ?1 AND id < ?2"
			   : "SELECT vmop_visit(id, place, task, stack, samples, weight)"
			     " FROM chunk WHERE id >= ?1 AND id < ?2",
		&stmt);
	if (err)
		return err;
	struct vmop_visit visit = {.selection = selection, .each = each, .arg = arg, .last_id = -1};
	for (size_t i = 0; !err && i < selection->n_ranges; i++) {
		const struct vmop_selected_range *range = &selection->ranges[i];
		sqlite3_reset(stmt);
		sqlite3_bind_int64(stmt, 1, (int64_t)range->first << VMOP_SCHEMA_CHUNK_BITS);
		sqlite3_bind_int64(stmt, 2, ((int64_t)range->last + 1) << VMOP_SCHEMA_CHUNK_BITS);
		err = run_visit(&visit, stmt);
	}
	return err;
}
