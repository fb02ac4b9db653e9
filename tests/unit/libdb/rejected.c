// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Rows that a session can't hold, a file that is renamed or deleted under its writer, and a disk
 * that can't be read.
 */
#include "tests/unit/libdb/common.h"

#include <errno.h>
#include <sqlite3.h>

static struct vmop_db_rejected rejected_of(const struct vmop_db *db)
{
	struct vmop_db_rejected rejected;
	vmop_db_rejected(db, &rejected);
	return rejected;
}

static struct vmop_db *make(const char *name)
{
	struct vmop_db *db = NULL;
	assert_ok(vmop_db_create(test_path(name), &db));
	put_facts(db);
	return db;
}

/* Put each kind of fact with an impossible value. */
static void put_hostile_facts(struct vmop_db *db)
{
	const struct vmop_symbol symbol = {.offset = 1, .name = "f", .type = 't'};
	assert_ok(vmop_db_put_symbols(db, (struct vmop_image_id){1}, &symbol, 0));
	assert_ok(vmop_db_put_task(db, &(struct vmop_db_task){.id = {0}, .comm = "none"}));
	assert_ok(vmop_db_put_task(
		db, &(struct vmop_db_task){.id = {VMOP_DB_TASK_ID_LIMIT}, .comm = "many"}));
	assert_ok(vmop_db_put_image(
		db, &(struct vmop_db_image){.id = {90}, .name = "long", .build_id_len_bytes = 21}));
	assert_ok(vmop_db_put_image(
		db, &(struct vmop_db_image){.id = {91}, .name = "odd", .kind = 99}));
	assert_ok(vmop_db_put_image(db, &(struct vmop_db_image){.id = {0}, .name = "no id"}));
	assert_ok(vmop_db_put_domain(
		db, &(struct vmop_db_domain){.id = {90}, .name = "odd", .kind = 99}));
}
#define N_HOSTILE_FACTS 7

static void put_hostile_chunks(struct vmop_db *db)
{
	static const struct vmop_db_cell falling[] = {{32, 5, 5}, {16, 2, 2}};
	struct vmop_db_chunk_key key = key_of(1, 2);
	assert_ok(vmop_db_put_chunk(db, &key, falling, 2));
	key.cpu = INT32_MIN;
	assert_ok(vmop_db_put_chunk(db, &key, falling + 1, 1));
	key = key_of(1, 2);
	key.mode = 200;
	assert_ok(vmop_db_put_chunk(db, &key, falling + 1, 1));
}
#define N_HOSTILE_SAMPLES 11

static void the_rest_is_stored(void **state)
{
	(void)state;
	static const struct vmop_db_cell good = {.offset = 16, .samples = 3, .weight_events = 3};
	const struct vmop_db_loss loss = {.name = "lost", .count = UINT64_MAX};
	const struct vmop_db_chunk_key key = key_of(1, 2);
	struct vmop_db *db = make("hostile");
	vmop_db_drop_rejected(db);
	put_hostile_facts(db); /* outside an interval, as a session's start does */
	assert_int_equal(rejected_of(db).facts, N_HOSTILE_FACTS);
	/* Rows of a rolled-back interval are put again, and counted once. */
	for (unsigned round = 0; round < 2; round++) {
		assert_ok(vmop_db_begin_interval(db, TEST_START_NS, VMOP_NS_PER_S));
		put_hostile_facts(db);
		put_hostile_chunks(db);
		assert_ok(vmop_db_put_chunk(db, &key, &good, 1));
		for (unsigned i = 0; i < 3; i++) /* above SQL's integers */
			assert_ok(vmop_db_put_loss(db, &loss));
		assert_int_equal(rejected_of(db).facts, 2 * N_HOSTILE_FACTS);
		assert_int_equal(rejected_of(db).samples, N_HOSTILE_SAMPLES);
		if (round == 0) {
			vmop_db_rollback(db);
			assert_int_equal(rejected_of(db).facts, N_HOSTILE_FACTS);
			assert_int_equal(rejected_of(db).samples, 0);
		}
	}
	assert_ok(vmop_db_commit(db));
	assert_non_null(strstr(rejected_of(db).first, "0 symbols"));
	assert_ok(vmop_db_finish(db));
	assert_ok(vmop_db_open(test_path("hostile"), &db));
	assert_ok(vmop_db_check(db));
	assert_int_equal(totals_of(db, NULL).samples, 3);
	vmop_db_close(db);
}

/* Losses whose sum exceeds SQL's integers must not prevent the merging of intervals. */
static void losses_are_rolled_up(void **state)
{
	(void)state;
	const struct vmop_db_loss loss = {.name = "lost", .count = UINT64_MAX};
	struct vmop_db *db = make("losses");
	bool more;
	for (unsigned i = 0; i < 4; i++) {
		assert_ok(vmop_db_begin_interval(db, TEST_START_NS + i * VMOP_NS_PER_S,
						 VMOP_NS_PER_S));
		assert_ok(vmop_db_put_loss(db, &loss));
		assert_ok(vmop_db_commit(db));
	}
	assert_ok(vmop_db_roll_up(db, 0, UINT64_MAX / 4, 60 * VMOP_NS_PER_S, 4, &more));
	assert_ok(vmop_db_check(db));
	assert_ok(vmop_db_finish(db));
}

static void abandoned_where_it_was_moved(void **state)
{
	(void)state;
	struct vmop_db *db = make("here"), *other;
	assert_ok(put_second(db, 0));
	assert_int_equal(rename(test_path("here"), test_path("there")), 0);
	/* Another session is at its path; its WAL must stay as it is. */
	assert_int_equal(unlink(test_path("here-wal")), 0);
	assert_int_equal(unlink(test_path("here-shm")), 0);
	other = make("here");
	assert_ok(put_second(other, 0));
	assert_ok(put_second(db, 1));
	assert_ok(vmop_db_abandon(db));
	assert_int_equal(access(test_path("here-wal"), F_OK), 0);
	assert_ok(vmop_db_finish(other));
	assert_ok(vmop_db_open(test_path("there"), &db));
	assert_ok(vmop_db_check(db));
	assert_int_equal(totals_of(db, NULL).samples, 20);
	vmop_db_close(db);
}

/* ---- a disk that can't be read, by SQLite's interface for tests ------------------ */

static ssize_t no_pread(int fd, void *buf, size_t len, off_t at)
{
	(void)fd, (void)buf, (void)len, (void)at;
	errno = EIO;
	return -1;
}

static void break_reads(bool are_broken)
{
	sqlite3_vfs *vfs = sqlite3_vfs_find(NULL);
	static const char *const calls[] = {"pread", "pread64"};
	for (size_t i = 0; i < 2; i++)
		vfs->xSetSystemCall(vfs, calls[i],
				    are_broken ? (sqlite3_syscall_ptr)no_pread : NULL);
}

static void eio_is_the_disks(void **state)
{
	(void)state;
	struct vmop_db *db = make("broken"), *reader = NULL;
	for (unsigned i = 0; i < 3; i++)
		assert_ok(put_second(db, i));
	assert_ok(vmop_db_finish(db));
	assert_ok(vmop_db_open(test_path("broken"), &reader));
	break_reads(true);
	struct vmop_error *walk =
		vmop_db_each_total(reader, NULL, add_to_totals, &(struct totals){0});
	struct vmop_error *check = vmop_db_check(reader);
	struct vmop_error *reopen = vmop_db_open(test_path("broken"), &db);
	break_reads(false);
	assert_error(reopen, VMOP_ERROR_OS, strerror(EIO));
	assert_error(check, VMOP_ERROR_OS, strerror(EIO));
	if (walk) /* SQLite's cache may have its pages */
		assert_error(walk, VMOP_ERROR_OS, strerror(EIO));
	vmop_db_close(reader);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_rest_is_stored),
		cmocka_unit_test(losses_are_rolled_up),
		cmocka_unit_test(abandoned_where_it_was_moved),
		cmocka_unit_test(eio_is_the_disks),
	};
	return cmocka_run_group_tests(tests, test_dir_make, test_dir_remove);
}
