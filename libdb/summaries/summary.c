// SPDX-License-Identifier: GPL-2.0-or-later
#include "libdb/summaries/summary.h"

#include "libdb/db.h"
#include "libdb/pile.h"
#include "libdb/schema.h"
#include "libutil/clock.h"

/*
 * The lengths of summaries.  Each is made of whole ones of the length before, the first of
 * intervals, so that no transaction sums more than ten parts or so.  The last length is that of
 * large ones: each day is added to it at once, because five together would take too long.
 */
static const uint64_t lens_ns[] = {600 * VMOP_NS_PER_S, 3600 * VMOP_NS_PER_S,
				   6 * 3600 * VMOP_NS_PER_S, 86400 * VMOP_NS_PER_S,
				   5 * 86400 * VMOP_NS_PER_S};
enum { N_LENS = sizeof(lens_ns) / sizeof(lens_ns[0]) };

/* The most intervals that one summary is made of: more would take too long at once. */
#define MAX_PARTS 100

/* ---- reading ----------------------------------------------------------------- */

static void read_summary(sqlite3_stmt *stmt, struct vmop_summary *ret, bool *corrupt)
{
	*ret = (struct vmop_summary){
		.span = {.id = vmop_db_column_u32(stmt, 0, corrupt),
			 .level = (uint8_t)vmop_db_column(stmt, 1, UINT8_MAX, corrupt),
			 .start_ns = vmop_db_column(stmt, 2, INT64_MAX, corrupt),
			 .len_ns = vmop_db_column(stmt, 3, INT64_MAX, corrupt)},
		.first = vmop_db_column_u32(stmt, 4, corrupt),
		.last = vmop_db_column_u32(stmt, 5, corrupt),
	};
	*corrupt |= ret->first > ret->last || ret->last > VMOP_SCHEMA_INTERVAL_MAX ||
		    ret->span.id != VMOP_SCHEMA_SUMMARY_MIN + ret->first;
}

struct vmop_error *
vmop_summaries_each(struct vmop_db *db,
		    struct vmop_error *(*each)(void *arg, const struct vmop_summary *summary),
		    void *arg)
{
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	bool row, corrupt = false;
	if (db->version < VMOP_SCHEMA_WITH_SUMMARIES)
		return NULL;
	struct vmop_error *err = vmop_db_prepare(
		db, "SELECT id, level, start_ns, len_ns, first, last FROM summary ORDER BY id",
		&stmt);
	while (!err && !(err = vmop_db_step(db, stmt, &row)) && row) {
		struct vmop_summary summary;
		read_summary(stmt, &summary, &corrupt);
		summary.span.start_ns = vmop_db_time(db, summary.span.start_ns);
		err = corrupt ? vmop_db_corrupt(db, "a row of the table summary")
			      : each(arg, &summary);
	}
	return err;
}

bool vmop_summary_is_valid(const struct vmop_summary *summary,
			   const struct vmop_db_interval *intervals, size_t n, size_t *ret_at,
			   size_t *ret_n)
{
	size_t low = 0, high = n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (intervals[middle].id < summary->first)
			low = middle + 1;
		else
			high = middle;
	}
	uint64_t start_ns = UINT64_MAX, end_ns = 0;
	size_t at = low;
	for (; at < n && intervals[at].id <= summary->last; at++) {
		uint64_t this_end_ns = intervals[at].start_ns + intervals[at].len_ns;
		start_ns = intervals[at].start_ns < start_ns ? intervals[at].start_ns : start_ns;
		end_ns = this_end_ns > end_ns ? this_end_ns : end_ns;
	}
	*ret_at = low;
	*ret_n = at - low;
	return at > low && start_ns == summary->span.start_ns &&
	       end_ns == summary->span.start_ns + summary->span.len_ns;
}

/* ---- making -------------------------------------------------------------------- */

/* The parts of one summary: intervals, or summaries of the level below, in one slot of time. */
struct parts {
	uint32_t first_id, last_id; /* in chunks' ids */
	uint32_t first, last;	    /* intervals */
	uint64_t start_ns, end_ns;
	unsigned n;
};

/* Gather the parts in the slot of the first row of stmt. */
static struct vmop_error *gather(struct vmop_db *db, sqlite3_stmt *stmt, uint64_t len_ns,
				 struct parts *ret)
{
	bool row, corrupt = false;
	struct vmop_error *err;
	*ret = (struct parts){0};
	while (!(err = vmop_db_step(db, stmt, &row)) && row) {
		uint32_t id = vmop_db_column_u32(stmt, 0, &corrupt);
		uint64_t start_ns = vmop_db_column(stmt, 1, INT64_MAX, &corrupt);
		uint64_t end_ns = start_ns + vmop_db_column(stmt, 2, INT64_MAX, &corrupt);
		uint32_t first = vmop_db_column_u32(stmt, 3, &corrupt);
		uint32_t last = vmop_db_column_u32(stmt, 4, &corrupt);
		if (corrupt)
			return vmop_db_corrupt(db, "a row of the table interval or summary");
		if (ret->n && start_ns / len_ns != ret->start_ns / len_ns)
			return NULL;
		if (!ret->n)
			*ret = (struct parts){.first_id = id, .first = first, .start_ns = start_ns};
		ret->last_id = id;
		ret->last = last;
		ret->end_ns = end_ns > ret->end_ns ? end_ns : ret->end_ns;
		ret->start_ns = start_ns < ret->start_ns ? start_ns : ret->start_ns;
		ret->n++;
	}
	return err;
}

/*
 * Set *ns to the start of the earliest data that is not yet in summaries of level - 1 or above, if
 * that is below *ns: parts of a slot before it are complete.
 */
static struct vmop_error *find_complete(struct vmop_db *db, unsigned level, uint64_t *ns)
{
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	bool row = false, corrupt = false;
	struct vmop_error *err = vmop_db_prepare(
		db,
		"SELECT min(ifnull((SELECT start_ns FROM interval WHERE id >"
		" (SELECT ifnull(max(last), 0) FROM summary) ORDER BY id LIMIT 1), ?2),"
		" ifnull((SELECT min(start_ns) FROM summary WHERE level < ?1), ?2), ?2)",
		&stmt);
	if (err)
		return err;
	sqlite3_bind_int64(stmt, 1, (int64_t)level - 1);
	sqlite3_bind_int64(stmt, 2, *ns > INT64_MAX ? INT64_MAX : (int64_t)*ns);
	err = vmop_db_step(db, stmt, &row);
	if (!err)
		*ns = vmop_db_column(stmt, 0, INT64_MAX, &corrupt);
	return !err && corrupt ? vmop_db_corrupt(db, "a row of the table interval") : err;
}

/* Find the oldest day that is in no summary of the last length, with the one that it is added to.
 */
static struct vmop_error *find_day(struct vmop_db *db, struct parts *ret, bool *ret_found)
{
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	struct vmop_error *err = vmop_db_prepare(
		db,
		"WITH day AS (SELECT * FROM summary WHERE level = ?1 ORDER BY id LIMIT 1)"
		" SELECT id, start_ns, len_ns, first, last FROM (SELECT summary.* FROM summary, day"
		" WHERE summary.level = ?1 + 1 AND summary.start_ns / ?2 = day.start_ns / ?2"
		" UNION ALL SELECT * FROM day) ORDER BY id",
		&stmt);
	if (err)
		return err;
	sqlite3_bind_int64(stmt, 1, N_LENS - 2);
	sqlite3_bind_int64(stmt, 2, (int64_t)lens_ns[N_LENS - 1]);
	err = gather(db, stmt, lens_ns[N_LENS - 1], ret);
	*ret_found = !err && ret->n;
	return err;
}

/*
 * Find parts of a level that are over and complete: intervals at level 0, otherwise summaries of
 * the level below.
 */
static struct vmop_error *find_parts(struct vmop_db *db, unsigned level, uint64_t before_ns,
				     struct parts *ret, bool *ret_found)
{
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	*ret_found = false;
	if (level == N_LENS - 1)
		return find_day(db, ret, ret_found);
	struct vmop_error *err = level ? find_complete(db, level, &before_ns) : NULL;
	if (!err)
		err = vmop_db_prepare(
			db,
			level ? "SELECT id, start_ns, len_ns, first, last FROM summary"
				" WHERE level = ?1 ORDER BY id"
			      : "SELECT id, start_ns, len_ns, id, id FROM interval WHERE id >"
				" (SELECT ifnull(max(last), 0) FROM summary) AND ?1 = 0 ORDER BY "
				"id",
			&stmt);
	if (err)
		return err;
	sqlite3_bind_int64(stmt, 1, level ? level - 1 : 0);
	err = gather(db, stmt, lens_ns[level], ret);
	uint64_t slot_end_ns = (ret->start_ns / lens_ns[level] + 1) * lens_ns[level];
	*ret_found = !err && ret->n && ret->n <= MAX_PARTS && slot_end_ns <= before_ns;
	return err;
}

static struct vmop_error *pile_chunks(struct vmop_db *db, const struct parts *parts,
				      struct vmop_pile *pile)
{
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	bool row, corrupt = false;
	struct vmop_error *err = vmop_db_prepare(
		db, "SELECT place, task, cells FROM chunk WHERE id >= ?1 << 24 AND id < ?2 << 24",
		&stmt);
	if (err)
		return err;
	sqlite3_bind_int64(stmt, 1, parts->first_id);
	sqlite3_bind_int64(stmt, 2, (int64_t)parts->last_id + 1);
	while (!(err = vmop_db_step(db, stmt, &row)) && row) {
		const struct vmop_sum_key key = {
			.place = vmop_db_column_u32(stmt, 0, &corrupt),
			.task = {vmop_db_column_u32(stmt, 1, &corrupt)},
		};
		const void *blob = sqlite3_column_blob(stmt, 2);
		if (corrupt || !blob)
			return vmop_db_corrupt(db, "a row of the table chunk");
		if (!vmop_pile_add(pile, &key, blob, (size_t)sqlite3_column_bytes(stmt, 2)))
			return &vmop_error_no_memory;
	}
	return err;
}

static struct vmop_error *run_on_ids(struct vmop_db *db, const char *sql, uint32_t first,
				     uint32_t last)
{
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	bool row;
	struct vmop_error *err = vmop_db_prepare(db, sql, &stmt);
	if (err)
		return err;
	sqlite3_bind_int64(stmt, 1, first);
	sqlite3_bind_int64(stmt, 2, last);
	return vmop_db_step(db, stmt, &row);
}

static struct vmop_error *delete_summaries(struct vmop_db *db, uint32_t first, uint32_t last)
{
	struct vmop_error *err = run_on_ids(
		db, "DELETE FROM chunk WHERE id >= ?1 << 24 AND id < (?2 + 1) << 24", first, last);
	return err ? err
		   : run_on_ids(db, "DELETE FROM summary WHERE id BETWEEN ?1 AND ?2", first, last);
}

static struct vmop_error *put_summary(struct vmop_db *db, unsigned level, const struct parts *parts)
{
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	bool row;
	struct vmop_error *err =
		vmop_db_prepare(db, "INSERT INTO summary VALUES(?1, ?2, ?3, ?4, ?5, ?6)", &stmt);
	if (err)
		return err;
	sqlite3_bind_int64(stmt, 1, VMOP_SCHEMA_SUMMARY_MIN + parts->first);
	sqlite3_bind_int64(stmt, 2, level);
	sqlite3_bind_int64(stmt, 3, (int64_t)parts->start_ns);
	sqlite3_bind_int64(stmt, 4, (int64_t)(parts->end_ns - parts->start_ns));
	sqlite3_bind_int64(stmt, 5, parts->first);
	sqlite3_bind_int64(stmt, 6, parts->last);
	return vmop_db_step(db, stmt, &row);
}

/* Make a summary of the parts; parts that are summaries are deleted. */
static struct vmop_error *sum_up(struct vmop_db *db, unsigned level, const struct parts *parts)
{
	_cleanup_(vmop_pile_deinit) struct vmop_pile pile = {0};
	if (level && parts->n == 1)
		return run_on_ids(db, "UPDATE summary SET level = ?1 WHERE id = ?2", level,
				  parts->first_id);
	struct vmop_error *err = pile_chunks(db, parts, &pile);
	if (!err && level)
		err = delete_summaries(db, parts->first_id, parts->last_id);
	if (!err)
		err = put_summary(db, level, parts);
	return err ? err : vmop_pile_store(&pile, db, VMOP_SCHEMA_SUMMARY_MIN + parts->first);
}

/* Cells that no row can hold, or damage: the session goes on without further summaries. */
static struct vmop_error *give_up(struct vmop_db *db, struct vmop_error *err)
{
	if (!err || (err->code != VMOP_ERROR_LIMIT && err->code != VMOP_ERROR_CORRUPT))
		return err;
	vmop_error_destroy(err);
	db->has_no_summaries = true;
	return NULL;
}

struct vmop_error *vmop_db_summarize(struct vmop_db *db, uint64_t before_ns, bool *ret_done)
{
	struct parts parts;
	bool is_found = false;
	unsigned level = N_LENS;
	struct vmop_error *err = NULL;
	*ret_done = false;
	if (!db->is_writer || db->in_interval)
		return vmop_error_new(VMOP_ERROR_CANT, "%s: %s", db->path,
				      db->is_writer ? "an interval is open" : "opened for reading");
	if (db->has_no_summaries)
		return NULL;
	while (!err && !is_found && level-- > 0)
		err = find_parts(db, level, before_ns, &parts, &is_found);
	if (err || !is_found)
		return err;
	err = vmop_db_run(db, VMOP_DB_BEGIN, "");
	if (err)
		return err;
	err = sum_up(db, level, &parts);
	if (!err)
		err = vmop_db_run(db, VMOP_DB_COMMIT, "");
	if (err && !sqlite3_get_autocommit(db->sqlite))
		vmop_error_destroy(vmop_db_run(db, VMOP_DB_ROLLBACK, ""));
	*ret_done = !err;
	return give_up(db, err);
}

/* ---- retention ----------------------------------------------------------------- */

struct vmop_error *vmop_summaries_forget(struct vmop_db *db, uint32_t interval)
{
	struct vmop_error *err = run_on_ids(
		db,
		"DELETE FROM chunk WHERE id >= (SELECT id FROM summary WHERE first <= ?1 AND last "
		">="
		" ?2) << 24 AND id < (SELECT id + 1 FROM summary WHERE first <= ?1 AND last >= ?2)"
		" << 24",
		interval, interval);
	return err ? err
		   : run_on_ids(db, "DELETE FROM summary WHERE first <= ?1 AND last >= ?2",
				interval, interval);
}
