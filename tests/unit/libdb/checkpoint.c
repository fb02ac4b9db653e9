// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Checkpoints beside the writer: the writer's thread never syncs, goes on while the disk hangs, and
 * no row is lost. fdatasync here takes the place of libc's for SQLite, too.
 */
#include "libdb/session-files.h"
#include "tests/unit/libdb/common.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/stat.h>

static pthread_t writer;
static atomic_uint syncs_of_writer, syncs_beside;
static atomic_bool is_disk_hanging, is_disk_broken;

int fdatasync(int fd)
{
	if (pthread_equal(pthread_self(), writer)) {
		syncs_of_writer++;
		return ((__typeof__(&fdatasync))dlsym(RTLD_NEXT, "fdatasync"))(fd);
	}
	syncs_beside++;
	while (is_disk_hanging)
		usleep(1000);
	if (is_disk_broken) {
		errno = EIO;
		return -1;
	}
	usleep(20000); /* a slow disk */
	return 0;
}

static struct vmop_db *begin(void)
{
	struct vmop_db *db;
	writer = pthread_self();
	is_disk_hanging = is_disk_broken = false;
	assert_ok(vmop_db_create(test_path("checkpoint.vmop"), &db));
	put_facts(db);
	vmop_db_checkpoint_beside(db);
	syncs_of_writer = syncs_beside = 0;
	return db;
}

static void wait_until_idle(const struct vmop_db *db)
{
	while (vmop_db_is_checkpointing(db))
		usleep(1000);
}

/* Put n seconds from number i on. As vmopd, wait for the thread before each if is_patient. */
static unsigned put_seconds(struct vmop_db *db, unsigned i, unsigned n, bool is_patient)
{
	for (unsigned end = i + n; i < end; i++) {
		if (is_patient)
			wait_until_idle(db);
		assert_ok(put_second(db, i));
	}
	return i;
}

static off_t wal_bytes(void)
{
	struct stat st;
	return stat(test_path("checkpoint.vmop-wal"), &st) < 0 ? 0 : st.st_size;
}

/* Finish the file, and check that it has n seconds. */
static void end(struct vmop_db *db, unsigned n)
{
	assert_ok(vmop_db_finish(db));
	assert_int_equal(wal_bytes(), 0);
	assert_ok(vmop_db_open(test_path("checkpoint.vmop"), &db));
	assert_ok(vmop_db_check(db));
	assert_int_equal(totals_of(db, NULL).samples, n * 10);
	vmop_db_close(db);
}

static void the_writer_never_syncs(void **state)
{
	(void)state;
	struct vmop_db *db = begin();
	off_t longest = 0;
	unsigned n = 0;
	while (n < 1500) {
		n = put_seconds(db, n, 1, true);
		longest = wal_bytes() > longest ? wal_bytes() : longest;
	}
	print_message("%u syncs beside the writer, a WAL of at most %jd bytes\n", syncs_beside,
		      (intmax_t)longest);
	assert_int_equal(syncs_of_writer, 0);
	/* Each checkpoint syncs the WAL and the file, and then the header of the next WAL. */
	assert_true(syncs_beside >= 6);
	assert_true(longest < 6 << 20);
	end(db, n);
}

static void a_disk_that_hangs(void **state)
{
	(void)state;
	struct vmop_db *db = begin();
	unsigned n = 0;
	is_disk_hanging = true;
	while (!vmop_db_is_checkpointing(db))
		n = put_seconds(db, n, 1, false);
	n = put_seconds(db, n, 300, false);
	assert_true(vmop_db_is_checkpointing(db));
	assert_int_equal(syncs_of_writer, 0);
	is_disk_hanging = false;
	wait_until_idle(db);
	n = put_seconds(db, n, 1, true);
	assert_null(vmop_db_checkpoint_failure(db));
	end(db, n);
}

static void a_reader_in_between(void **state)
{
	(void)state;
	struct vmop_db *db = begin(), *reader;
	unsigned n = put_seconds(db, 0, 5, true);
	assert_ok(vmop_db_open(test_path("checkpoint.vmop"), &reader));
	assert_ok(vmop_db_begin_snapshot(reader));
	n = put_seconds(db, n, 1000, true);
	assert_int_equal(totals_of(reader, NULL).samples, 50);
	off_t grown = wal_bytes();
	assert_true(grown > 8 << 20);
	vmop_db_close(reader);
	/* The WAL begins anew, so that it needs no more room. */
	n = put_seconds(db, n, 1000, true);
	assert_true(wal_bytes() <= (grown > 8 << 20 ? grown : 8 << 20) + (1 << 20));
	assert_null(vmop_db_checkpoint_failure(db));
	end(db, n);
}

static void a_disk_that_breaks(void **state)
{
	(void)state;
	struct vmop_db *db = begin();
	unsigned n = 0;
	is_disk_broken = true;
	while (!vmop_db_is_checkpointing(db))
		n = put_seconds(db, n, 1, false);
	wait_until_idle(db);
	assert_error(vmop_db_checkpoint_failure(db), VMOP_ERROR_OS, "Input/output error");
	assert_null(vmop_db_checkpoint_failure(db));
	is_disk_broken = false;
	n = put_seconds(db, n, 600, true);
	assert_null(vmop_db_checkpoint_failure(db));
	end(db, n);
}

/* As by a rotation: the writer goes on, and never syncs. */
static void a_file_that_is_renamed(void **state)
{
	(void)state;
	struct vmop_db *db = begin(), *other;
	unsigned n = put_seconds(db, 0, 3, true);
	assert_ok(vmop_session_move(test_path("checkpoint.vmop"), test_path("renamed.vmop")));
	vmop_db_renamed(db, strdup(test_path("renamed.vmop")));
	/* The file that has its old name now, with a WAL, stays as it is. */
	assert_ok(vmop_db_create(test_path("checkpoint.vmop"), &other));
	put_facts(other);
	assert_ok(put_second(other, 0));
	syncs_beside = syncs_of_writer = 0;
	n = put_seconds(db, n, 600, true);
	assert_true(syncs_beside > 0);
	assert_int_equal(syncs_of_writer, 0);
	assert_ok(vmop_db_finish(db));
	assert_int_equal(access(test_path("renamed.vmop-wal"), F_OK), -1);
	assert_int_equal(access(test_path("renamed.vmop-shm"), F_OK), -1);
	assert_ok(vmop_db_open(test_path("renamed.vmop"), &db));
	assert_ok(vmop_db_check(db));
	assert_int_equal(totals_of(db, NULL).samples, n * 10);
	vmop_db_close(db);
	assert_true(wal_bytes() > 0);
	end(other, 1);
}

/* Commits are synced without a checkpoint, too. Takes as long as VMOP_CHECKPOINT_SYNC_NS. */
static void a_few_commits(void **state)
{
	(void)state;
	struct vmop_db *db = begin();
	unsigned n = put_seconds(db, 0, 3, true);
	uint64_t begun_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	while (!syncs_beside)
		usleep(10000);
	assert_true(vmop_clock_ns(CLOCK_MONOTONIC) - begun_ns >= 9 * VMOP_NS_PER_S);
	assert_int_equal(syncs_of_writer, 0);
	end(db, n);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(function) cmocka_unit_test_setup_teardown(function, test_dir_make, test_dir_remove)
		TEST(the_writer_never_syncs), TEST(a_disk_that_hangs),
		TEST(a_reader_in_between),    TEST(a_disk_that_breaks),
		TEST(a_file_that_is_renamed), TEST(a_few_commits),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
