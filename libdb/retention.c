// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Reduce a session that is too old or too large: make detail coarser, delete intervals, and give
 * their pages back.
 */
#include <inttypes.h>
#include <stdio.h>

#include "libdb/connection.h"
#include "libdb/db.h"
#include "libdb/schema.h"
#include "libdb/summaries/summary.h"
#include "libutil/parse.h"

/* The facts about deleted intervals. */
#define DROPPED_SAMPLES "dropped_samples"
#define DROPPED_UNTIL "dropped_until_ns"

static struct vmop_error *need_writer(struct vmop_db *db)
{
	if (db->is_writer && !db->in_interval)
		return NULL;
	return vmop_error_new(VMOP_ERROR_CANT, "%s: %s", db->path,
			      db->is_writer ? "an interval is open" : "opened for reading");
}

/* ---- room --------------------------------------------------------------------- */

/* Set *ret to the first column of the first row of sql; 0 if no row. */
static struct vmop_error *number_of(struct vmop_db *db, const char *sql, uint64_t *ret)
{
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	bool row = false, corrupt = false;
	struct vmop_error *err = vmop_db_prepare(db, sql, &stmt);
	if (!err)
		err = vmop_db_step(db, stmt, &row);
	*ret = err || !row ? 0 : vmop_db_column(stmt, 0, INT64_MAX, &corrupt);
	return !err && corrupt ? vmop_db_corrupt(db, "%s", sql) : err;
}

struct vmop_error *vmop_db_room(struct vmop_db *db, struct vmop_db_room *ret)
{
	uint64_t page_bytes, pages, free_pages, all_bytes;
	*ret = (struct vmop_db_room){0};
	struct vmop_error *err = number_of(db, "PRAGMA page_size", &page_bytes);
	if (!err)
		err = number_of(db, "PRAGMA page_count", &pages);
	if (!err)
		err = number_of(db, "PRAGMA freelist_count", &free_pages);
	if (!err)
		err = vmop_db_measure(db, &all_bytes);
	if (err)
		return err;
	ret->used_bytes = (pages - free_pages) * page_bytes;
	ret->free_bytes = free_pages * page_bytes;
	ret->disk_bytes = all_bytes;
	return NULL;
}

struct vmop_error *vmop_db_give_back(struct vmop_db *db, uint64_t spare_bytes, unsigned max_pages,
				     bool *ret_more)
{
	char sql[64];
	uint64_t page_bytes, free_pages;
	*ret_more = false;
	struct vmop_error *err = need_writer(db);
	if (!err)
		err = number_of(db, "PRAGMA page_size", &page_bytes);
	if (!err)
		err = number_of(db, "PRAGMA freelist_count", &free_pages);
	if (err || !page_bytes)
		return err;
	uint64_t spare_pages = spare_bytes / page_bytes;
	if (free_pages <= spare_pages)
		return NULL;
	uint64_t n = free_pages - spare_pages;
	*ret_more = n > max_pages;
	snprintf(sql, sizeof(sql), "PRAGMA incremental_vacuum(%" PRIu64 ")",
		 n < max_pages ? n : max_pages);
	int rc = sqlite3_exec(db->sqlite, sql, NULL, NULL, NULL);
	return rc == SQLITE_OK ? NULL : vmop_db_sqlite_error(db, rc);
}

/* ---- coarser ------------------------------------------------------------------- */

/* Set *ret to the id of the oldest interval of level, or to 0. */
static struct vmop_error *oldest_of(struct vmop_db *db, uint8_t level, uint64_t *ret)
{
	char sql[96];
	snprintf(sql, sizeof(sql), "SELECT id FROM interval WHERE level = %u ORDER BY id LIMIT 1",
		 level);
	return number_of(db, sql, ret);
}

struct vmop_error *vmop_db_coarsen(struct vmop_db *db, const uint64_t *lens_ns, unsigned n_lens,
				   uint64_t before_ns, bool *ret_done)
{
	*ret_done = false;
	for (unsigned level = n_lens; level-- > 0 && !*ret_done;) {
		uint64_t before, after;
		bool more;
		struct vmop_error *err = oldest_of(db, (uint8_t)level, &before);
		if (!err && before)
			err = vmop_db_roll_up(db, (uint8_t)level, before_ns, lens_ns[level], 1,
					      &more);
		if (!err && before)
			err = oldest_of(db, (uint8_t)level, &after);
		if (err)
			return err;
		*ret_done = before && after != before;
	}
	return NULL;
}

/* ---- deleted ------------------------------------------------------------------- */

struct oldest {
	int64_t id;
	uint64_t end_ns;
	bool is_last; /* there is no other interval */
};

static struct vmop_error *find_oldest(struct vmop_db *db, struct oldest *ret)
{
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	bool row = false, corrupt = false;
	*ret = (struct oldest){0};
	struct vmop_error *err = vmop_db_prepare(
		db, "SELECT id, start_ns, len_ns FROM interval ORDER BY id LIMIT 2", &stmt);
	if (!err)
		err = vmop_db_step(db, stmt, &row);
	if (err || !row)
		return err;
	ret->id = (int64_t)vmop_db_column_u32(stmt, 0, &corrupt);
	ret->end_ns = vmop_db_column(stmt, 1, INT64_MAX, &corrupt) +
		      vmop_db_column(stmt, 2, INT64_MAX, &corrupt);
	if (corrupt)
		return vmop_db_corrupt(db, "a row of the table interval");
	err = vmop_db_step(db, stmt, &row);
	ret->is_last = !row;
	return err;
}

/* Run sql with two integers as its parameters. *ret is its first column, or 0. */
static struct vmop_error *run_on(struct vmop_db *db, const char *sql, int64_t first, int64_t second,
				 uint64_t *ret)
{
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	bool row = false, corrupt = false;
	struct vmop_error *err = vmop_db_prepare(db, sql, &stmt);
	if (err)
		return err;
	sqlite3_bind_int64(stmt, 1, first);
	sqlite3_bind_int64(stmt, 2, second);
	err = vmop_db_step(db, stmt, &row);
	if (!err && row && ret)
		*ret = vmop_db_column(stmt, 0, INT64_MAX, &corrupt);
	return !err && corrupt ? vmop_db_corrupt(db, "the table chunk") : err;
}

static struct vmop_error *put_number(struct vmop_db *db, const char *name, uint64_t value)
{
	char text[24];
	snprintf(text, sizeof(text), "%" PRIu64, value);
	return vmop_db_put_info(db, name, text);
}

static struct vmop_error *get_number(struct vmop_db *db, const char *name, uint64_t *ret)
{
	_cleanup_free_ char *text = NULL;
	struct vmop_error *err = vmop_db_get_info(db, name, &text);
	if (err || !text || !vmop_parse_u64(text, 10, ret))
		*ret = 0;
	return err;
}

/* Add the interval to the facts about deleted ones. */
static struct vmop_error *note_dropped(struct vmop_db *db, const struct oldest *oldest,
				       uint64_t samples)
{
	uint64_t dropped, until_ns;
	struct vmop_error *err = get_number(db, DROPPED_SAMPLES, &dropped);
	if (!err)
		err = get_number(db, DROPPED_UNTIL, &until_ns);
	if (__builtin_add_overflow(dropped, samples, &dropped))
		dropped = UINT64_MAX;
	if (!err)
		err = put_number(db, DROPPED_SAMPLES, dropped);
	if (!err)
		err = put_number(db, DROPPED_UNTIL,
				 oldest->end_ns > until_ns ? oldest->end_ns : until_ns);
	return err;
}

static struct vmop_error *drop(struct vmop_db *db, const struct oldest *oldest)
{
	int64_t first = oldest->id << VMOP_SCHEMA_CHUNK_BITS;
	int64_t next = (oldest->id + 1) << VMOP_SCHEMA_CHUNK_BITS;
	uint64_t samples = 0;
	struct vmop_error *err =
		run_on(db,
		       "SELECT CAST(min(total(samples), 9e18) AS INTEGER) FROM chunk"
		       " WHERE id >= ?1 AND id < ?2",
		       first, next, &samples);
	if (!err)
		err = run_on(db, "DELETE FROM chunk WHERE id >= ?1 AND id < ?2", first, next, NULL);
	if (!err)
		err = vmop_summaries_forget(db, (uint32_t)oldest->id);
	if (!err)
		err = run_on(db, "DELETE FROM loss WHERE interval BETWEEN ?1 AND ?2", oldest->id,
			     oldest->id, NULL);
	if (!err)
		err = run_on(db, "DELETE FROM wait WHERE interval BETWEEN ?1 AND ?2", oldest->id,
			     oldest->id, NULL);
	if (!err)
		err = run_on(db, "DELETE FROM exit_place WHERE interval BETWEEN ?1 AND ?2",
			     oldest->id, oldest->id, NULL);
	if (!err)
		err = run_on(db, "DELETE FROM interval WHERE id BETWEEN ?1 AND ?2", oldest->id,
			     oldest->id, NULL);
	return err ? err : note_dropped(db, oldest, samples);
}

struct vmop_error *vmop_db_drop_oldest(struct vmop_db *db, uint64_t before_ns, bool *ret_done)
{
	struct oldest oldest;
	*ret_done = false;
	struct vmop_error *err = need_writer(db);
	if (!err)
		err = find_oldest(db, &oldest);
	if (err || !oldest.id || oldest.is_last || oldest.end_ns > before_ns)
		return err;
	err = vmop_db_run(db, VMOP_DB_BEGIN, "");
	if (err)
		return err;
	err = drop(db, &oldest);
	if (!err)
		err = vmop_db_run(db, VMOP_DB_COMMIT, "");
	if (err && !sqlite3_get_autocommit(db->sqlite))
		vmop_error_destroy(vmop_db_run(db, VMOP_DB_ROLLBACK, ""));
	*ret_done = !err;
	return err;
}

/* ---- which span has which detail ----------------------------------------------- */

struct details {
	struct vmop_error *(*each)(void *arg, const struct vmop_db_detail *detail);
	void *arg;
	struct vmop_db_detail open; /* n_intervals 0: none */
};

static struct vmop_error *end_detail(struct details *details)
{
	struct vmop_error *err =
		details->open.n_intervals ? details->each(details->arg, &details->open) : NULL;
	details->open = (struct vmop_db_detail){0};
	return err;
}

static struct vmop_error *add_to_details(void *arg, const struct vmop_db_interval *interval)
{
	struct details *details = arg;
	struct vmop_db_detail *open = &details->open;
	uint64_t end_ns = interval->start_ns + interval->len_ns;
	if (open->n_intervals && open->level != interval->level) {
		struct vmop_error *err = end_detail(details);
		if (err)
			return err;
	}
	if (!open->n_intervals)
		*open = (struct vmop_db_detail){.level = interval->level,
						.start_ns = interval->start_ns};
	open->n_intervals++;
	if (end_ns > open->end_ns)
		open->end_ns = end_ns;
	if (interval->start_ns < open->start_ns)
		open->start_ns = interval->start_ns;
	if (interval->len_ns > open->longest_ns)
		open->longest_ns = interval->len_ns;
	return NULL;
}

struct vmop_error *
vmop_db_each_detail(struct vmop_db *db,
		    struct vmop_error *(*each)(void *arg, const struct vmop_db_detail *detail),
		    void *arg)
{
	struct details details = {.each = each, .arg = arg};
	struct vmop_error *err = vmop_db_each_interval(db, add_to_details, &details);
	return err ? err : end_detail(&details);
}
