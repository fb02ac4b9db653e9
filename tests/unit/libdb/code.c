// SPDX-License-Identifier: GPL-2.0-or-later
/* Stored code is read again by range and time; damage is found, and old files have none. */
#include "tests/unit/libdb/common.h"

#include <sqlite3.h>

#define IMAGE ((struct vmop_image_id){1})

/* Rows that were read: the first byte and the place of each. */
struct seen {
	size_t n;
	struct {
		uint64_t offset, time_ns;
		size_t len_bytes;
		uint8_t first, last;
	} rows[16];
};

static struct vmop_error *see(void *arg, const struct vmop_db_code *code)
{
	struct seen *seen = arg;
	const uint8_t *bytes = code->bytes;
	assert_true(seen->n < 16);
	seen->rows[seen->n].offset = code->offset;
	seen->rows[seen->n].time_ns = code->time_ns;
	seen->rows[seen->n].len_bytes = code->len_bytes;
	seen->rows[seen->n].first = bytes[0];
	seen->rows[seen->n++].last = bytes[code->len_bytes - 1];
	return NULL;
}

static void put(struct vmop_db *db, uint64_t offset, uint64_t time_ns, uint8_t first,
		bool is_random, size_t len_bytes)
{
	uint8_t bytes[VMOP_DB_CODE_MAX_BYTES] = {0};
	size_t stored_bytes;
	for (size_t i = 0; is_random && i < len_bytes; i++)
		bytes[i] = (uint8_t)random();
	bytes[0] = bytes[len_bytes - 1] = first;
	const struct vmop_db_code code = {IMAGE, offset, time_ns, bytes, len_bytes};
	assert_ok(vmop_db_put_code(db, &code, &stored_bytes));
	assert_in_range(stored_bytes, 2, len_bytes + 1);
	assert_int_equal(stored_bytes == len_bytes + 1, is_random);
}

static struct vmop_db *make(const char *name)
{
	struct vmop_db *db;
	assert_ok(vmop_db_create(test_path(name), &db));
	put_facts(db);
	put(db, 0x3000, 7, 30, false, 4096);
	put(db, 0x1000, 9, 11, true, 4096);
	put(db, 0x1000, 5, 10, false, 4096);
	put(db, 0x2000, 6, 20, true, 100);
	put(db, INT64_MAX, 6, 90, false, 100);
	assert_ok(vmop_db_finish(db));
	assert_ok(vmop_db_open(test_path(name), &db));
	return db;
}

static void code_is_read_by_range(void **state)
{
	(void)state;
	struct vmop_db *db = make("range");
	struct seen seen = {0};
	assert_ok(vmop_db_each_code(db, IMAGE, 0, UINT64_MAX, see, &seen));
	assert_int_equal(seen.n, 4);		  /* the end of a range is below 2^63 */
	assert_int_equal(seen.rows[0].first, 10); /* by offset, then by time */
	assert_int_equal(seen.rows[1].first, 11);
	assert_int_equal(seen.rows[1].last, 11);
	assert_int_equal(seen.rows[1].time_ns, 9);
	assert_int_equal(seen.rows[2].len_bytes, 100);
	assert_int_equal(seen.rows[3].offset, 0x3000);
	seen.n = 0;
	assert_ok(vmop_db_each_code(db, IMAGE, 0x1fff, 0x2001, see, &seen));
	assert_int_equal(seen.n, 3); /* they overlap the range */
	seen.n = 0;
	assert_ok(vmop_db_each_code(db, IMAGE, 0x2064, 0x3000, see, &seen));
	assert_int_equal(seen.n, 0);
	assert_ok(vmop_db_each_code(db, (struct vmop_image_id){2}, 0, UINT64_MAX, see, &seen));
	assert_int_equal(seen.n, 0);
	assert_ok(vmop_db_check(db));
	vmop_db_close(db);
}

static void lengths_are_bounded(void **state)
{
	(void)state;
	struct vmop_db *db;
	static const uint8_t bytes[VMOP_DB_CODE_MAX_BYTES + 1];
	size_t stored_bytes;
	assert_ok(vmop_db_create(test_path("bounds"), &db));
	struct vmop_db_code code = {IMAGE, 0, 1, bytes, sizeof(bytes)};
	assert_error(vmop_db_put_code(db, &code, &stored_bytes), VMOP_ERROR_LIMIT,
		     "length of code");
	assert_int_equal(stored_bytes, 0);
	code.len_bytes = 0;
	assert_error(vmop_db_put_code(db, &code, &stored_bytes), VMOP_ERROR_LIMIT,
		     "length of code");
	code.len_bytes = 1;
	code.offset = UINT64_MAX;
	assert_error(vmop_db_put_code(db, &code, &stored_bytes), VMOP_ERROR_LIMIT,
		     "offset of code");
	vmop_db_close(db);
}

/* Run statements of the test's own on a closed file. */
static void run_sql(const char *name, const char *sql)
{
	sqlite3 *sqlite;
	assert_int_equal(sqlite3_open(test_path(name), &sqlite), SQLITE_OK);
	assert_int_equal(sqlite3_exec(sqlite, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(sqlite);
}

static void damage_is_found(void **state)
{
	(void)state;
	static const char *const damages[] = {
		"UPDATE code SET data = x'' WHERE offset = 4096",
		"UPDATE code SET data = x'03ff' WHERE offset = 4096",
		"UPDATE code SET data = x'02ffffff' WHERE offset = 4096",
		"UPDATE code SET n_bytes = 4095 WHERE offset = 4096",
		"UPDATE code SET n_bytes = 100000 WHERE offset = 4096",
		"UPDATE code SET n_bytes = -1 WHERE offset = 4096",
		"UPDATE code SET time_ns = -time_ns WHERE offset = 4096",
	};
	for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
		char name[16];
		struct seen seen = {0};
		snprintf(name, sizeof(name), "damage-%zu", i);
		struct vmop_db *db = make(name);
		vmop_db_close(db);
		run_sql(name, damages[i]);
		assert_ok(vmop_db_open(test_path(name), &db));
		assert_error(vmop_db_each_code(db, IMAGE, 0, 0x2000, see, &seen),
			     VMOP_ERROR_CORRUPT, "code of image 1");
		assert_error(vmop_db_check(db), VMOP_ERROR_CORRUPT, "code of image 1");
		vmop_db_close(db);
	}
}

static void older_files_have_none(void **state)
{
	(void)state;
	struct vmop_db *db = make("old");
	struct seen seen = {0};
	vmop_db_close(db);
	run_sql("old", "DROP TABLE code; PRAGMA user_version = 2");
	assert_ok(vmop_db_open(test_path("old"), &db));
	assert_ok(vmop_db_each_code(db, IMAGE, 0, UINT64_MAX, see, &seen));
	assert_int_equal(seen.n, 0);
	assert_ok(vmop_db_check(db));
	vmop_db_close(db);
	run_sql("old", "PRAGMA user_version = 3");
	assert_error(vmop_db_open(test_path("old"), &db), VMOP_ERROR_CORRUPT, "code");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_is_read_by_range),
		cmocka_unit_test(lengths_are_bounded),
		cmocka_unit_test(damage_is_found),
		cmocka_unit_test(older_files_have_none),
	};
	return cmocka_run_group_tests(tests, test_dir_make, test_dir_remove);
}
