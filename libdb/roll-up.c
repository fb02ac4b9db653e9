// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rolling up: merging old intervals into fewer and longer ones.  For each span that is over, its
 * chunks are summed by place, task and stacks, and the sums replace its rows.  Ids of stacks are
 * the session's, so that cells with stacks are merged like others.
 *
 * task.merged is 0 in the row of a task.  It is above 0 in a row that stands for this number of
 * ended tasks.  It is -1 in the row of an ended task that such a row counts; that row remains only
 * while a chunk that is not yet rolled up refers to it.
 */
#include "libdb/hash.h"
#include <stdlib.h>

#include "libdb/connection.h"
#include "libdb/db.h"
#include "libdb/pile.h"
#include "libdb/schema.h"
#include "libutil/clock.h"

/* Tasks that must have ended before their rows are swept. */
#define SWEEP_AFTER_TASKS 1024

#define SWEEP_MARK_EVERY_NS (1800 * VMOP_NS_PER_S)

/* The last samples of a task, which can wait for the kernel of a guest, are stored so soon. */
#define SWEEP_LATE_NS (60 * VMOP_NS_PER_S)

#define MAX_SPANS 10000 /* in one call */

/* Intervals that become one. */
struct span {
	uint32_t first, last; /* ids */
	uint64_t start_ns, end_ns;
};

/* The row that gets a task's samples: its own, or the merged one. */
struct destination {
	struct vmop_task_row_id from, to;
	UT_hash_handle hh;
};

enum statement {
	ROWS,
	DEAD_TASK,
	MARK_MERGED,
	DELETE_CHUNKS,
	DELETE_INTERVALS,
	NEW_INTERVAL,
	MERGE_LOSSES,
	DELETE_LOSSES,
	MERGE_WAITS,
	DELETE_WAITS,
	MERGE_PLACES,
	DELETE_PLACES,
	BEGIN_SPAN,
	END_SPAN,
	UNDO_SPAN,
	PASS_OVER,
	N_STATEMENTS,
};

static const char *const sqls[N_STATEMENTS] = {
	[ROWS] = "SELECT place, task, cells FROM chunk WHERE id >= ?1 AND id < ?2",
	[DEAD_TASK] = "SELECT domain, exe_image, comm, cgroup, merged FROM task"
		      " WHERE id = ?1 AND end_time_ns > 0 AND merged <= 0",
	[MARK_MERGED] = "UPDATE task SET merged = -1 WHERE id = ?1",
	[DELETE_CHUNKS] = "DELETE FROM chunk WHERE id >= ?1 AND id < ?2",
	[DELETE_INTERVALS] = "DELETE FROM interval WHERE id BETWEEN ?1 AND ?2",
	[NEW_INTERVAL] = "INSERT INTO interval VALUES(?1, ?2, ?3, ?4)",
	[MERGE_LOSSES] = "INSERT INTO loss SELECT ?1, name, domain, event, count FROM loss"
			 " WHERE interval > ?1 AND interval <= ?2"
			 " ON CONFLICT DO UPDATE SET count = " VMOP_DB_SUM_OF_COUNTS,
	[DELETE_LOSSES] = "DELETE FROM loss WHERE interval > ?1 AND interval <= ?2",
	[MERGE_WAITS] = "INSERT INTO wait SELECT ?1, domain, vcpu, state, cause, count, time_ns"
			" FROM wait WHERE interval > ?1 AND interval <= ?2"
			" ON CONFLICT DO UPDATE SET count = " VMOP_DB_SUM_OF_COUNTS
			", time_ns = " VMOP_DB_SUM_OF_TIMES,
	[DELETE_WAITS] = "DELETE FROM wait WHERE interval > ?1 AND interval <= ?2",
	[MERGE_PLACES] = "INSERT INTO exit_place SELECT ?1, domain, cause, image, offset, count"
			 " FROM exit_place WHERE interval > ?1 AND interval <= ?2"
			 " ON CONFLICT DO UPDATE SET count = " VMOP_DB_SUM_OF_COUNTS,
	[DELETE_PLACES] = "DELETE FROM exit_place WHERE interval > ?1 AND interval <= ?2",
	[BEGIN_SPAN] = "SAVEPOINT span",
	[END_SPAN] = "RELEASE span",
	[UNDO_SPAN] = "ROLLBACK TO span",
	[PASS_OVER] = "UPDATE interval SET level = ?3 WHERE id BETWEEN ?1 AND ?2",
};

struct roll {
	struct vmop_db *db;
	sqlite3_stmt *statements[N_STATEMENTS];
	struct destination *destinations; /* uthash; found in this call */
};

static void forget_destinations(struct roll *roll)
{
	struct destination *destination, *next;
	HASH_ITER (hh, roll->destinations, destination, next) {
		HASH_DEL(roll->destinations, destination);
		free(destination);
	}
}

static void roll_deinit(struct roll *roll)
{
	for (size_t i = 0; i < N_STATEMENTS; i++)
		sqlite3_finalize(roll->statements[i]);
	forget_destinations(roll);
}

static struct vmop_error *roll_init(struct roll *roll, struct vmop_db *db)
{
	roll->db = db;
	struct vmop_error *err = NULL;
	for (size_t i = 0; !err && i < N_STATEMENTS; i++)
		err = vmop_db_prepare(db, sqls[i], &roll->statements[i]);
	return err;
}

/* Run a statement with n integers as parameters, up to its first row. */
static struct vmop_error *run(struct roll *roll, enum statement which, bool *ret_row, int n,
			      const int64_t *values)
{
	sqlite3_stmt *stmt = roll->statements[which];
	sqlite3_reset(stmt);
	for (int i = 0; i < n; i++)
		sqlite3_bind_int64(stmt, i + 1, values[i]);
	return vmop_db_step(roll->db, stmt, ret_row);
}

static struct vmop_error *run_through(struct roll *roll, enum statement which, int n,
				      const int64_t *values)
{
	bool row;
	struct vmop_error *err = run(roll, which, &row, n, values);
	sqlite3_reset(roll->statements[which]);
	return err;
}

/* ---- which intervals ------------------------------------------------------- */

struct spans {
	uint8_t level;
	uint64_t before_ns, len_ns;
	struct span *all;
	size_t n, max;
	bool is_open; /* all[n] is being gathered */
};

static uint64_t slot_of(const struct spans *spans, uint64_t start_ns)
{
	return start_ns / spans->len_ns;
}

/* End the span being gathered, and keep it if it is over. */
static void close_span(struct spans *spans)
{
	if (!spans->is_open)
		return;
	spans->is_open = false;
	uint64_t slot_end_ns;
	uint64_t next_slot = slot_of(spans, spans->all[spans->n].start_ns) + 1;
	if (!__builtin_mul_overflow(next_slot, spans->len_ns, &slot_end_ns) &&
	    slot_end_ns <= spans->before_ns)
		spans->n++;
}

static void add_interval(struct spans *spans, const struct vmop_db_interval *interval)
{
	if (interval->level != spans->level) {
		close_span(spans);
		return;
	}
	uint64_t end_ns = interval->start_ns + interval->len_ns;
	if (spans->is_open &&
	    slot_of(spans, interval->start_ns) == slot_of(spans, spans->all[spans->n].start_ns)) {
		struct span *span = &spans->all[spans->n];
		span->last = interval->id;
		if (interval->start_ns < span->start_ns)
			span->start_ns = interval->start_ns;
		if (end_ns > span->end_ns)
			span->end_ns = end_ns;
		return;
	}
	close_span(spans);
	spans->is_open = true;
	spans->all[spans->n] = (struct span){.first = interval->id,
					     .last = interval->id,
					     .start_ns = interval->start_ns,
					     .end_ns = end_ns};
}

/* Find up to max spans, and one more if there are more. all has room for max + 2. */
static struct vmop_error *find_spans(struct vmop_db *db, struct spans *spans)
{
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	struct vmop_error *err = vmop_db_prepare(
		db, "SELECT id, level, start_ns, len_ns FROM interval ORDER BY id", &stmt);
	bool row;
	while (!err && spans->n <= spans->max && !(err = vmop_db_step(db, stmt, &row)) && row) {
		bool corrupt = false;
		struct vmop_db_interval interval = {
			.id = vmop_db_column_u32(stmt, 0, &corrupt),
			.level = (uint8_t)vmop_db_column(stmt, 1, UINT8_MAX, &corrupt),
			.start_ns = vmop_db_column(stmt, 2, INT64_MAX, &corrupt),
			.len_ns = vmop_db_column(stmt, 3, INT64_MAX, &corrupt),
		};
		if (corrupt)
			return vmop_db_corrupt(db, "a row of the table interval");
		add_interval(spans, &interval);
	}
	close_span(spans);
	return err;
}

/* ---- ended tasks ------------------------------------------------------------- */

static struct vmop_error *look_up_destination(struct roll *roll, struct vmop_task_row_id task,
					      struct vmop_task_row_id *ret)
{
	*ret = task;
	if (task.number == 0 || task.number >= VMOP_DB_TASK_ID_LIMIT)
		return NULL;
	int64_t id = task.number;
	bool row;
	struct vmop_error *err = run(roll, DEAD_TASK, &row, 1, &id);
	if (err || !row)
		return err;
	sqlite3_stmt *dead = roll->statements[DEAD_TASK];
	const struct vmop_db_task like = {
		.domain = {(uint32_t)sqlite3_column_int64(dead, 0)},
		.exe_image = {(uint32_t)sqlite3_column_int64(dead, 1)},
		.comm = (const char *)sqlite3_column_text(dead, 2),
		.cgroup = (const char *)sqlite3_column_text(dead, 3),
	};
	bool is_counted = sqlite3_column_int64(dead, 4) < 0;
	err = vmop_db_merge_tasks(roll->db, &like, !is_counted, ret);
	if (err || is_counted)
		return err;
	roll->db->ended_tasks++;
	/* The row must not change while the statement reads it. */
	sqlite3_reset(dead);
	return run_through(roll, MARK_MERGED, 1, &id);
}

static struct vmop_error *destination_of(struct roll *roll, struct vmop_task_row_id task,
					 struct vmop_task_row_id *ret)
{
	struct destination *destination;
	HASH_FIND(hh, roll->destinations, &task, sizeof(task), destination);
	if (!destination) {
		struct vmop_task_row_id to;
		struct vmop_error *err = look_up_destination(roll, task, &to);
		if (err)
			return err;
		destination = malloc(sizeof(*destination));
		if (!destination)
			return &vmop_error_no_memory;
		destination->from = task;
		destination->to = to;
		HASH_ADD(hh, roll->destinations, from, sizeof(destination->from), destination);
	}
	*ret = destination->to;
	return NULL;
}

/*
 * Mark the present moment, twice an hour.  A task with an id above that of a mark has chunks only
 * in intervals that began after the mark, because the writer's ids ascend.
 */
static struct vmop_error *mark_for_sweep(struct vmop_db *db, uint64_t before_ns)
{
	struct vmop_db_sweep_mark *marks = db->sweep_marks;
	if (before_ns - marks[1].time_ns < SWEEP_MARK_EVERY_NS)
		return NULL;
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	bool row = false, corrupt = false;
	struct vmop_error *err =
		vmop_db_prepare(db, "SELECT ifnull(max(id), 0) FROM task WHERE id < ?1", &stmt);
	if (err)
		return err;
	sqlite3_bind_int64(stmt, 1, VMOP_DB_TASK_ID_LIMIT);
	err = vmop_db_step(db, stmt, &row);
	if (err)
		return err;
	marks[0] = marks[1];
	marks[1] = (struct vmop_db_sweep_mark){
		.time_ns = before_ns,
		.task = row ? vmop_db_column_u32(stmt, 0, &corrupt) : 0,
		.interval = db->interval,
	};
	return NULL;
}

/*
 * Delete the rows of ended tasks that no chunk refers to.  Only the tasks and chunks since the
 * older mark are looked at: a walk over all chunks of a month takes seconds.  An interval that was
 * merged over the mark begins before it.
 */
static struct vmop_error *sweep_tasks(struct vmop_db *db, uint64_t before_ns)
{
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	bool row;
	struct vmop_error *err = vmop_db_prepare(
		db,
		"DELETE FROM task WHERE end_time_ns > 0 AND end_time_ns < ?1 AND id > ?2"
		" AND id NOT IN (SELECT task FROM chunk WHERE id >="
		" (SELECT ifnull(max(id), 0) FROM interval WHERE id <= ?3) << 24"
		" AND id < (SELECT ifnull(max(id), 0) + 1 FROM interval WHERE start_ns < ?4) << "
		"24)",
		&stmt);
	if (err)
		return err;
	uint64_t most_ns = INT64_MAX - SWEEP_LATE_NS;
	uint64_t to_ns = before_ns < most_ns ? before_ns : most_ns;
	sqlite3_bind_int64(stmt, 1, (int64_t)to_ns);
	sqlite3_bind_int64(stmt, 2, db->sweep_marks[0].task);
	sqlite3_bind_int64(stmt, 3, db->sweep_marks[0].interval);
	sqlite3_bind_int64(stmt, 4, (int64_t)(to_ns + SWEEP_LATE_NS));
	db->ended_tasks = 0;
	return vmop_db_step(db, stmt, &row);
}

/* ---- one span ------------------------------------------------------------------ */

static struct vmop_error *add_row(struct roll *roll, struct vmop_pile *pile)
{
	sqlite3_stmt *stmt = roll->statements[ROWS];
	bool corrupt = false;
	struct vmop_sum_key key = {
		.place = vmop_db_column_u32(stmt, 0, &corrupt),
	};
	const struct vmop_task_row_id task = {vmop_db_column_u32(stmt, 1, &corrupt)};
	const void *blob = sqlite3_column_blob(stmt, 2);
	if (corrupt || !blob)
		return vmop_db_corrupt(roll->db, "a row of the table chunk");
	struct vmop_error *err = destination_of(roll, task, &key.task);
	if (err)
		return err;
	bool is_added = vmop_pile_add(pile, &key, blob, (size_t)sqlite3_column_bytes(stmt, 2));
	return is_added ? NULL : &vmop_error_no_memory;
}

static struct vmop_error *add_rows(struct roll *roll, const int64_t *chunk_ids,
				   struct vmop_pile *pile)
{
	bool row;
	struct vmop_error *err = run(roll, ROWS, &row, 2, chunk_ids);
	while (!err && row) {
		err = add_row(roll, pile);
		if (!err)
			err = vmop_db_step(roll->db, roll->statements[ROWS], &row);
	}
	sqlite3_reset(roll->statements[ROWS]);
	return err;
}

static struct vmop_error *merge_span(struct roll *roll, const struct span *span, uint8_t level)
{
	_cleanup_(vmop_pile_deinit) struct vmop_pile pile = {0};
	int64_t ids[] = {span->first, span->last};
	int64_t chunk_ids[] = {(int64_t)span->first << VMOP_SCHEMA_CHUNK_BITS,
			       ((int64_t)span->last + 1) << VMOP_SCHEMA_CHUNK_BITS};
	int64_t interval[] = {span->first, level + 1, (int64_t)span->start_ns,
			      (int64_t)(span->end_ns - span->start_ns)};
	struct vmop_error *err = add_rows(roll, chunk_ids, &pile);
	if (!err)
		err = run_through(roll, DELETE_CHUNKS, 2, chunk_ids);
	if (!err)
		err = run_through(roll, DELETE_INTERVALS, 2, ids);
	if (!err)
		err = run_through(roll, NEW_INTERVAL, 4, interval);
	if (!err)
		err = vmop_pile_store(&pile, roll->db, span->first);
	for (enum statement i = MERGE_LOSSES; !err && i <= DELETE_PLACES; i++)
		err = run_through(roll, i, 2, ids);
	return err;
}

/*
 * Raise the level of a span that can't be merged because of err (too many cells in one row, a
 * damaged blob), and leave the rest of it as it is.  Otherwise every call would try it again, and
 * later spans would never be merged.
 */
static struct vmop_error *pass_over(struct roll *roll, const struct span *span, uint8_t level,
				    struct vmop_error *err)
{
	bool concerns_span = err->code == VMOP_ERROR_LIMIT || err->code == VMOP_ERROR_CORRUPT;
	if (!concerns_span || sqlite3_get_autocommit(roll->db->sqlite))
		return err;
	vmop_error_destroy(err);
	for (size_t i = 0; i < N_STATEMENTS; i++)
		sqlite3_reset(roll->statements[i]);
	forget_destinations(roll); /* their rows are rolled back */
	int64_t values[] = {span->first, span->last, level + 1};
	err = run_through(roll, UNDO_SPAN, 0, NULL);
	return err ? err : run_through(roll, PASS_OVER, 3, values);
}

static struct vmop_error *merge_spans(struct vmop_db *db, const struct spans *spans)
{
	_cleanup_(roll_deinit) struct roll roll = {0};
	struct vmop_error *err = roll_init(&roll, db);
	for (size_t i = 0; !err && i < spans->n && i < spans->max; i++) {
		err = run_through(&roll, BEGIN_SPAN, 0, NULL);
		if (err)
			break;
		err = merge_span(&roll, &spans->all[i], spans->level);
		if (err)
			err = pass_over(&roll, &spans->all[i], spans->level, err);
		if (!err)
			err = run_through(&roll, END_SPAN, 0, NULL);
	}
	if (!err)
		err = mark_for_sweep(db, spans->before_ns);
	if (!err && db->ended_tasks >= SWEEP_AFTER_TASKS)
		err = sweep_tasks(db, spans->before_ns);
	return err;
}

struct vmop_error *vmop_db_roll_up(struct vmop_db *db, uint8_t level, uint64_t before_ns,
				   uint64_t len_ns, unsigned max_intervals, bool *ret_more)
{
	*ret_more = false;
	if (!db->is_writer || db->in_interval)
		return vmop_error_new(VMOP_ERROR_CANT, "%s: %s", db->path,
				      db->is_writer ? "an interval is open" : "opened for reading");
	if (len_ns == 0 || max_intervals == 0 || level == UINT8_MAX)
		return NULL;
	if (max_intervals > MAX_SPANS)
		max_intervals = MAX_SPANS;
	_cleanup_free_ struct span *all = calloc((size_t)max_intervals + 2, sizeof(*all));
	if (!all)
		return &vmop_error_no_memory;
	struct spans spans = {.level = level,
			      .before_ns = before_ns,
			      .len_ns = len_ns,
			      .all = all,
			      .max = max_intervals};
	struct vmop_error *err = find_spans(db, &spans);
	if (err || spans.n == 0)
		return err;
	err = vmop_db_run(db, VMOP_DB_BEGIN, "");
	if (err)
		return err;
	err = merge_spans(db, &spans);
	if (!err)
		err = vmop_db_run(db, VMOP_DB_COMMIT, "");
	if (err && !sqlite3_get_autocommit(db->sqlite))
		vmop_error_destroy(vmop_db_run(db, VMOP_DB_ROLLBACK, ""));
	*ret_more = !err && spans.n > spans.max;
	return err;
}
