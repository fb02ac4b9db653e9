// SPDX-License-Identifier: GPL-2.0-or-later
/* Checking a session file: every page, blob and reference. */
#include <stdlib.h>
#include <string.h>

#include "libdb/connection.h"
#include "libdb/db.h"
#include "libdb/filter.h"

static struct vmop_error *check_pages(struct vmop_db *db)
{
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	bool row = false;
	struct vmop_error *err = vmop_db_prepare(db, "PRAGMA quick_check(1)", &stmt);
	if (!err)
		err = vmop_db_step(db, stmt, &row);
	if (err)
		return err;
	const char *answer = row ? (const char *)sqlite3_column_text(stmt, 0) : NULL;
	if (!answer || strcmp(answer, "ok") != 0)
		return vmop_db_corrupt(db, "%s", answer ? answer : "it can't be checked");
	return NULL;
}

/* Run a statement that selects wrong rows.  Its first column is the id in the error. */
static struct vmop_error *check_none(struct vmop_db *db, const char *sql, const char *what)
{
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	bool row = false;
	struct vmop_error *err = vmop_db_prepare(db, sql, &stmt);
	if (!err)
		err = vmop_db_step(db, stmt, &row);
	if (!err && row)
		err = vmop_db_corrupt(db, "%s %lld", what,
				      (long long)sqlite3_column_int64(stmt, 0));
	return err;
}

static struct vmop_error *check_references(struct vmop_db *db)
{
	static const struct {
		const char *sql, *what;
	} checks[] = {
		{"SELECT id FROM chunk WHERE id >> 24 NOT IN (SELECT id FROM interval)",
		 "missing interval of chunk"},
		{"SELECT place FROM chunk WHERE place NOT IN (SELECT id FROM place)",
		 "a chunk refers to missing place"},
		{"SELECT task FROM chunk WHERE task <> 0 AND task NOT IN (SELECT id FROM task)",
		 "a chunk refers to missing task"},
		{"SELECT image FROM place WHERE image NOT IN (SELECT id FROM image)",
		 "a place refers to missing image"},
		{"SELECT domain FROM place WHERE domain NOT IN (SELECT id FROM domain)",
		 "a place refers to missing domain"},
		{"SELECT billed FROM place WHERE billed NOT IN (SELECT id FROM domain)",
		 "a place refers to missing domain"},
		{"SELECT event FROM place WHERE event NOT IN (SELECT id FROM event)",
		 "a place refers to missing event"},
		{"SELECT exe_image FROM task WHERE exe_image <> 0"
		 " AND exe_image NOT IN (SELECT id FROM image)",
		 "a task refers to missing image"},
		{"SELECT image FROM symbols WHERE image NOT IN (SELECT id FROM image)",
		 "symbols refer to missing image"},
	};
	struct vmop_error *err = NULL;
	for (size_t i = 0; !err && i < sizeof(checks) / sizeof(checks[0]); i++)
		err = check_none(db, checks[i].sql, checks[i].what);
	return err;
}

static struct vmop_error *check_chunk(void *arg, const struct vmop_chunk_row *row)
{
	struct vmop_db *db = arg;
	struct vmop_unpack unpack;
	struct vmop_db_cell cell;
	uint64_t samples = 0, weight = 0;
	enum vmop_unpack_result result = VMOP_UNPACK_BAD;
	if (vmop_unpack_begin(&unpack, row->cells, row->cells_len_bytes))
		while ((result = vmop_unpack_next(&unpack, &cell)) == VMOP_UNPACK_CELL) {
			if (__builtin_add_overflow(samples, cell.samples, &samples))
				samples = UINT64_MAX;
			if (__builtin_add_overflow(weight, cell.weight_events, &weight))
				weight = UINT64_MAX;
		}
	if (result != VMOP_UNPACK_END)
		return vmop_db_corrupt(db, "a chunk's cells");
	/* A total beyond SQL's integers is stored as the greatest integer. */
	if ((samples > INT64_MAX ? INT64_MAX : samples) != row->samples ||
	    (weight > INT64_MAX ? INT64_MAX : weight) != row->weight_events)
		return vmop_db_corrupt(db, "a chunk's totals differ from its cells'");
	return NULL;
}

static struct vmop_error *check_chunks(struct vmop_db *db)
{
	_cleanup_(vmop_selection_deinit) struct vmop_selection selection = {0};
	struct vmop_error *err = vmop_selection_init(&selection, db, NULL);
	return err ? err : vmop_selection_each_row(&selection, true, check_chunk, db);
}

static struct vmop_error *check_symbols(struct vmop_db *db)
{
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	struct vmop_error *err = vmop_db_prepare(db, "SELECT image, n_symbols FROM symbols", &stmt);
	bool row;
	while (!err && !(err = vmop_db_step(db, stmt, &row)) && row) {
		_cleanup_free_ struct vmop_symbol *symbols = NULL;
		size_t n;
		int64_t image = sqlite3_column_int64(stmt, 0);
		err = vmop_db_get_symbols(db, (struct vmop_image_id){(uint32_t)image}, &symbols,
					  &n);
		if (!err && (int64_t)n != sqlite3_column_int64(stmt, 1))
			err = vmop_db_corrupt(db, "wrong number of symbols of image %lld",
					      (long long)image);
	}
	return err;
}

struct vmop_error *vmop_db_check(struct vmop_db *db)
{
	struct vmop_error *err = vmop_db_allow_work(db);
	if (!err)
		err = check_pages(db);
	if (!err)
		err = check_references(db);
	if (!err)
		err = check_chunks(db);
	return err ? err : check_symbols(db);
}
