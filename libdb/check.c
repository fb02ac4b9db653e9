// SPDX-License-Identifier: GPL-2.0-or-later
/* Checking a session file: every page, blob and reference. */
#include <stdlib.h>
#include <string.h>

#include "libdb/connection.h"
#include "libdb/db.h"
#include "libdb/filter.h"
#include "libdb/schema.h"
#include "libdb/stacks/cells.h"
#include "libutil/array.h"

#define STACKS_MAX_BYTES ((size_t)1 << 30) /* of nodes in memory: 64 million */

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

static struct vmop_error *check_waits(struct vmop_db *db)
{
	static const char *const checks[] = {
		"SELECT interval FROM wait WHERE interval NOT IN (SELECT id FROM interval)",
		"SELECT interval FROM wait WHERE domain NOT IN (SELECT id FROM domain)",
		"SELECT interval FROM wait WHERE state = 1"
		" AND cause NOT IN (SELECT id FROM culprit)",
		"SELECT interval FROM exit_place WHERE interval NOT IN (SELECT id FROM interval)",
		"SELECT interval FROM exit_place WHERE domain NOT IN (SELECT id FROM domain)",
		"SELECT interval FROM exit_place WHERE image <> 0"
		" AND image NOT IN (SELECT id FROM image)",
	};
	struct vmop_error *err = NULL;
	for (size_t i = 0; !err && i < sizeof(checks) / sizeof(checks[0]); i++)
		err = check_none(db, checks[i], "a missing reference of waits in interval");
	return err;
}

static struct vmop_error *check_references(struct vmop_db *db)
{
	static const struct {
		const char *sql, *what;
	} checks[] = {
		{"SELECT id FROM chunk WHERE id < 2147483648 << 24"
		 " AND id >> 24 NOT IN (SELECT id FROM interval)",
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
	struct vmop_error *err =
		db->version < VMOP_SCHEMA_WITH_SUMMARIES
			? NULL
			: check_none(db,
				     "SELECT id FROM chunk WHERE id >= 2147483648 << 24"
				     " AND id >> 24 NOT IN (SELECT id FROM summary)",
				     "missing summary of chunk");
	for (size_t i = 0; !err && i < sizeof(checks) / sizeof(checks[0]); i++)
		err = check_none(db, checks[i].sql, checks[i].what);
	return err || db->version < VMOP_SCHEMA_WITH_WAITS ? err : check_waits(db);
}

struct checking {
	struct vmop_db *db;
	uint32_t last_stack; /* of the nodes of stacks */
	uint64_t samples, weight_events;
};

static void add_to_totals(struct checking *checking, const struct vmop_db_cell *cell)
{
	if (__builtin_add_overflow(checking->samples, cell->samples, &checking->samples))
		checking->samples = UINT64_MAX;
	if (__builtin_add_overflow(checking->weight_events, cell->weight_events,
				   &checking->weight_events))
		checking->weight_events = UINT64_MAX;
}

static bool cells_are_good(struct checking *checking, const struct vmop_chunk_row *row)
{
	struct vmop_unpack unpack;
	struct vmop_db_cell cell;
	enum vmop_unpack_result result = VMOP_UNPACK_BAD;
	if (vmop_unpack_begin(&unpack, row->cells, row->cells_len_bytes))
		while ((result = vmop_unpack_next(&unpack, &cell)) == VMOP_UNPACK_CELL)
			add_to_totals(checking, &cell);
	return result == VMOP_UNPACK_END;
}

static bool stack_cells_are_good(struct checking *checking, const struct vmop_chunk_row *row)
{
	struct vmop_unpack_stacks unpack;
	struct vmop_db_stack_cell cell;
	enum vmop_unpack_result result = VMOP_UNPACK_BAD;
	size_t n;
	if (!vmop_unpack_stacks_begin(&unpack, row->cells, row->cells_len_bytes))
		return false;
	while ((result = vmop_unpack_stacks_some(&unpack, &cell, 1, &n)) == VMOP_UNPACK_CELL) {
		add_to_totals(checking, &cell.cell);
		if (cell.stack.number > checking->last_stack)
			return false;
	}
	return result == VMOP_UNPACK_END;
}

static struct vmop_error *check_chunk(void *arg, const struct vmop_chunk_row *row)
{
	struct checking *checking = arg;
	checking->samples = checking->weight_events = 0;
	if (!(row->has_stacks ? stack_cells_are_good : cells_are_good)(checking, row))
		return vmop_db_corrupt(checking->db, "a chunk's cells");
	/* A total beyond SQL's integers is stored as the greatest integer. */
	uint64_t samples = checking->samples, weight = checking->weight_events;
	if ((samples > INT64_MAX ? INT64_MAX : samples) != row->samples ||
	    (weight > INT64_MAX ? INT64_MAX : weight) != row->weight_events)
		return vmop_db_corrupt(checking->db, "a chunk's totals differ from its cells'");
	return NULL;
}

static struct vmop_error *check_chunks(struct checking *checking)
{
	_cleanup_(vmop_selection_deinit) struct vmop_selection selection = {0};
	struct vmop_error *err = vmop_selection_init(&selection, checking->db, NULL, false);
	return err ? err : vmop_selection_each_row(&selection, true, check_chunk, checking);
}

/* ---- nodes of stacks ------------------------------------------------------- */

/* The images of a file, ascending by id. */
struct images {
	uint32_t *ids;
	size_t n, capacity;
};

static struct vmop_error *add_image(void *arg, const struct vmop_db_image *image)
{
	struct images *images = arg;
	if (!vmop_array_reserve(images->ids, images->capacity, images->n + 1))
		return &vmop_error_no_memory;
	images->ids[images->n++] = image->id.number;
	return NULL;
}

static int compare_u32(const void *a, const void *b)
{
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	return x < y ? -1 : x > y;
}

static struct vmop_error *check_images(struct vmop_db *db, const struct vmop_db_stacks *stacks)
{
	struct images images = {0};
	struct vmop_error *err = vmop_db_each_image(db, add_image, &images);
	if (images.n)
		qsort(images.ids, images.n, sizeof(*images.ids), compare_u32);
	struct vmop_db_stack_node node;
	uint32_t last_image = 0;
	for (uint32_t id = 1;
	     !err && vmop_db_stacks_node(stacks, (struct vmop_stack_id){id}, &node); id++) {
		if (node.image.number == last_image || !node.image.number)
			continue;
		last_image = node.image.number;
		if (!images.n ||
		    !bsearch(&last_image, images.ids, images.n, sizeof(*images.ids), compare_u32))
			err = vmop_db_corrupt(db, "a node of stacks refers to missing image %u",
					      last_image);
	}
	free(images.ids);
	return err;
}

static struct vmop_error *check_stacks(struct vmop_db *db, uint32_t *ret_last)
{
	struct vmop_db_stacks *stacks;
	struct vmop_error *err = vmop_db_load_stacks(db, STACKS_MAX_BYTES, &stacks);
	if (!err && stacks)
		err = check_images(db, stacks);
	*ret_last = vmop_db_stacks_last(stacks);
	vmop_db_stacks_destroy(stacks);
	return err;
}

/* ---- symbols ---------------------------------------------------------------- */

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

/* ---- code ------------------------------------------------------------------- */

static struct vmop_error *see_code(void *arg, const struct vmop_db_code *code)
{
	(void)arg;
	(void)code;
	return NULL;
}

static struct vmop_error *check_code(struct vmop_db *db)
{
	_cleanup_(vmop_db_finalize) sqlite3_stmt *stmt = NULL;
	if (db->version < VMOP_SCHEMA_WITH_CODE)
		return NULL;
	struct vmop_error *err = vmop_db_prepare(db, "SELECT DISTINCT image FROM code", &stmt);
	bool row;
	while (!err && !(err = vmop_db_step(db, stmt, &row)) && row) {
		const struct vmop_image_id image = {(uint32_t)sqlite3_column_int64(stmt, 0)};
		err = vmop_db_each_code(db, image, 0, UINT64_MAX, see_code, NULL);
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
	struct checking checking = {.db = db};
	if (!err)
		err = check_stacks(db, &checking.last_stack);
	if (!err)
		err = check_chunks(&checking);
	if (!err)
		err = check_symbols(db);
	return err ? err : check_code(db);
}
