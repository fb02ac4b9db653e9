// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Faults around a session file: killed writers, readers without rights, full disks.  Tests that
 * need root are skipped without it, and print so.
 */
#include "tests/unit/libdb/common.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/wait.h>

#define NOBODY 65534

/* ---- killed writers ---------------------------------------------------------- */

/* Write intervals as fast as possible, and send their number after each commit.  Never returns. */
static void write_for_ever(const char *path, int fd)
{
	struct vmop_db *db;
	bool more;
	assert_ok(vmop_db_create(path, &db));
	put_facts(db);
	for (unsigned i = 0;; i++) {
		assert_ok(put_second(db, i));
		unsigned done = i + 1;
		if (write(fd, &done, sizeof(done)) != sizeof(done))
			_exit(1);
		if (i % 100 == 99)
			assert_ok(vmop_db_roll_up(db, 0, TEST_START_NS + i * VMOP_NS_PER_S,
						  60 * VMOP_NS_PER_S, 1, &more));
	}
}

/* Start a writer, and kill it `then_us` after n commits or later. Returns the commits. */
static unsigned kill_writer(const char *path, unsigned n, unsigned then_us)
{
	int fds[2];
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid_t child = fork();
	if (child == 0) {
		close(fds[0]);
		write_for_ever(path, fds[1]);
	}
	close(fds[1]);
	unsigned done = 0, more;
	while (done < n)
		assert_int_equal(read(fds[0], &done, sizeof(done)), sizeof(done));
	usleep(then_us);
	assert_int_equal(kill(child, SIGKILL), 0);
	while (read(fds[0], &more, sizeof(more)) == sizeof(more))
		done = more;
	close(fds[0]);
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	return done;
}

/* Check that the file has every committed interval, at most one more, and no incomplete one. */
static void assert_whole(const char *path, unsigned done)
{
	struct vmop_db *db;
	assert_ok(vmop_db_open(path, &db));
	assert_ok(vmop_db_check(db));
	uint64_t samples = totals_of(db, NULL).samples;
	assert_int_equal(samples % 10, 0);
	assert_in_range(samples / 10, done, done + 1);
	vmop_db_close(db);
}

static void killed_writers(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 40; i++) {
		char name[32];
		snprintf(name, sizeof(name), "killed-%u", i);
		const char *path = test_path(name);
		/* One run passes a checkpoint (1000 pages). */
		unsigned done = kill_writer(path, i == 39 ? 800 : 1 + i * 7, i * 131 % 2000);
		assert_whole(path, done);
		if (i % 2) {
			char wal[PATH_MAX + 64];
			snprintf(wal, sizeof(wal), "%s-wal", path);
			assert_int_equal(access(wal, F_OK), 0);
			assert_ok(vmop_db_recover(path));
			assert_int_equal(access(wal, F_OK), -1);
			assert_whole(path, done);
			assert_ok(vmop_db_recover(path)); /* nothing to do */
		}
	}
}

static void recover_refuses(void **state)
{
	(void)state;
	struct vmop_db *db;
	assert_ok(vmop_db_create(test_path("live"), &db));
	put_facts(db);
	assert_ok(put_second(db, 0));
	assert_error(vmop_db_recover(test_path("live")), VMOP_ERROR_BUSY, "another program");
	assert_ok(put_second(db, 1));
	assert_ok(vmop_db_finish(db));
	assert_error(vmop_db_recover(test_path("absent")), VMOP_ERROR_OS, "absent");
}

/* ---- readers ------------------------------------------------------------------- */

/* Run fn in a child as an unprivileged user; a failed assertion ends the child with a status other
 * than 0. */
static void as_nobody(void (*fn)(const char *path), const char *path)
{
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		if (setgroups(0, NULL) || setgid(NOBODY) || setuid(NOBODY))
			_exit(9);
		fn(path);
		_exit(0);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), 0);
}

/* Compare by hand, for assertions outside a cmocka test abort. */
static void read_seven(const char *path)
{
	struct vmop_db *db;
	struct totals totals = {0};
	if (access(path, W_OK) == 0)
		_exit(2);
	struct vmop_error *err = vmop_db_open(path, &db);
	if (!err)
		err = vmop_db_begin_snapshot(db);
	if (!err)
		err = vmop_db_each_total(db, NULL, add_to_totals, &totals);
	if (!err)
		err = vmop_db_check(db);
	if (err) {
		fprintf(stderr, "as nobody: %s\n", err->message);
		_exit(3);
	}
	vmop_db_close(db);
	_exit(totals.samples == 70 ? 0 : 4);
}

static void read_forbidden(const char *path)
{
	struct vmop_db *db;
	struct vmop_error *err = vmop_db_open(path, &db);
	_exit(err && err->code == VMOP_ERROR_CANT && strstr(err->message, path) ? 0 : 5);
}

/* A folder that all users can read, and only its owner can write. */
static const char *owned_folder(const char *name)
{
	const char *path = test_path(name);
	assert_int_equal(mkdir(path, 0755), 0);
	assert_int_equal(chmod(path, 0755), 0);
	return path;
}

static void readers_without_rights(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		print_message("not root: readers of another uid left out\n");
		return;
	}
	assert_int_equal(chmod(test_dir, 0755), 0);
	owned_folder("owned");
	const char *path = test_path("owned/session");
	struct vmop_db *db;
	assert_ok(vmop_db_create(path, &db));
	put_facts(db);
	for (unsigned i = 0; i < 7; i++)
		assert_ok(put_second(db, i));
	as_nobody(read_seven, path); /* beside the live writer */
	assert_ok(vmop_db_begin_interval(db, TEST_START_NS, VMOP_NS_PER_S));
	as_nobody(read_seven, path); /* and in the middle of its interval */
	vmop_db_rollback(db);
	assert_ok(vmop_db_finish(db));
	as_nobody(read_seven, path); /* finished */
	assert_int_equal(chmod(path, 0600), 0);
	as_nobody(read_forbidden, path);
	assert_int_equal(chmod(path, 0444), 0);
	assert_int_equal(chmod(test_path("owned"), 0555), 0);
	as_nobody(read_seven, path);
}

/* Leave a WAL as kill -9 does, without killing. */
static void leave_unfinished(const char *path)
{
	pid_t child = fork();
	if (child == 0) {
		struct vmop_db *db;
		assert_ok(vmop_db_create(path, &db));
		put_facts(db);
		for (unsigned i = 0; i < 7; i++)
			assert_ok(put_second(db, i));
		_exit(0);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void leftovers_read_without_rights(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		print_message("not root: leftovers of another uid left out\n");
		return;
	}
	assert_int_equal(chmod(test_dir, 0755), 0);
	owned_folder("left");
	const char *path = test_path("left/session");
	leave_unfinished(path);
	assert_int_equal(access(test_path("left/session-wal"), F_OK), 0);
	as_nobody(read_seven, path);
	/* Then without the -shm file, as after a reboot that removed only this. */
	assert_int_equal(unlink(test_path("left/session-shm")), 0);
	as_nobody(read_seven, test_path("left/session"));
}

/* A copy of only the main file, in WAL mode, where no WAL can be created. */
static void copy_in_read_only_folder(void **state)
{
	(void)state;
	if (geteuid() != 0) {
		print_message("not root: read-only folders left out\n");
		return;
	}
	assert_int_equal(chmod(test_dir, 0755), 0);
	owned_folder("copy");
	const char *path = test_path("copy/session");
	leave_unfinished(path);
	/* The checkpoint empties the WAL; the file's header still has WAL mode. */
	pid_t child = fork();
	if (child == 0) {
		execlp("sqlite3", "sqlite3", path, "PRAGMA wal_checkpoint(TRUNCATE)", NULL);
		_exit(77);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	if (WEXITSTATUS(status) == 77) {
		print_message("no sqlite3: a copied file left out\n");
		return;
	}
	unlink(test_path("copy/session-wal"));
	unlink(test_path("copy/session-shm"));
	as_nobody(read_seven, path);
}

/* ---- full disks ------------------------------------------------------------------ */

/* Write until the disk is full: committed intervals stay, and with room writing succeeds again. */
static unsigned write_until_full(struct vmop_db *db, unsigned i, int expected_errno)
{
	struct vmop_error *err;
	for (;; i++) {
		err = put_second(db, i);
		if (err)
			break;
		assert_in_range(i, 0, 100000);
	}
	if (err->os_errno != expected_errno || !strstr(err->message, test_dir))
		fail_msg("%s (%d)", err->message, err->os_errno);
	vmop_error_destroy(err);
	return i;
}

static void full_tmpfs(void **state)
{
	(void)state;
	owned_folder("small");
	if (mount("vmop-test", test_path("small"), "tmpfs", 0, "size=600k,mode=755") < 0) {
		print_message("can't mount a tmpfs (%s): left out\n", strerror(errno));
		return;
	}
	struct vmop_db *db;
	assert_ok(vmop_db_create(test_path("small/session"), &db));
	put_facts(db);
	/* Another file fills the rest of the disk, so that deleting it makes room. */
	int fd = open(test_path("small/ballast"), O_CREAT | O_WRONLY, 0600);
	assert_int_equal(posix_fallocate(fd, 0, 200000), 0);
	unsigned done = write_until_full(db, 0, ENOSPC);
	assert_true(done > 3);
	assert_error(put_second(db, done), VMOP_ERROR_OS, "No space left");
	assert_int_equal(totals_of(db, NULL).samples, done * 10);
	assert_int_equal(ftruncate(fd, 0), 0);
	close(fd);
	for (unsigned i = 0; i < 10; i++)
		assert_ok(put_second(db, done + i));
	assert_int_equal(totals_of(db, NULL).samples, (done + 10) * 10);
	assert_ok(vmop_db_check(db));
	vmop_db_close(db); /* incomplete */
	assert_ok(vmop_db_open(test_path("small/session"), &db));
	assert_int_equal(totals_of(db, NULL).samples, (done + 10) * 10);
	assert_ok(vmop_db_check(db));
	vmop_db_close(db);
	assert_int_equal(umount(test_path("small")), 0);
}

static void file_size_limit(void **state)
{
	(void)state;
	struct rlimit before, limit;
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	struct sigaction ignore = {.sa_handler = SIG_IGN}, action;
	assert_int_equal(sigaction(SIGXFSZ, &ignore, &action), 0);
	struct vmop_db *db;
	assert_ok(vmop_db_create(test_path("limited"), &db));
	put_facts(db);
	limit = before;
	limit.rlim_cur = 300000;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	unsigned done = write_until_full(db, 0, EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_int_equal(sigaction(SIGXFSZ, &action, NULL), 0);
	assert_int_equal(totals_of(db, NULL).samples, done * 10);
	assert_ok(put_second(db, done));
	assert_ok(vmop_db_check(db));
	assert_ok(vmop_db_finish(db));
	assert_whole(test_path("limited"), done + 1);
}

/* ---- finishing -------------------------------------------------------------------- */

static void finish_beside_a_reader(void **state)
{
	(void)state;
	struct vmop_db *db, *reader;
	assert_ok(vmop_db_create(test_path("watched"), &db));
	put_facts(db);
	assert_ok(put_second(db, 0));
	assert_ok(vmop_db_open(test_path("watched"), &reader));
	assert_ok(vmop_db_begin_snapshot(reader));
	uint64_t begun_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	assert_error(vmop_db_finish(db), VMOP_ERROR_BUSY, "watched");
	/* Far less than SQLite's waits of 5 s elsewhere. */
	assert_true(vmop_clock_ns(CLOCK_MONOTONIC) - begun_ns < 4 * VMOP_NS_PER_S);
	assert_int_equal(totals_of(reader, NULL).samples, 10);
	vmop_db_close(reader);
	assert_whole(test_path("watched"), 1);
	assert_ok(vmop_db_recover(test_path("watched")));
	assert_int_equal(access(test_path("watched-wal"), F_OK), -1);
}

/* A failed test can leave its disk mounted. */
static int clean_up(void **state)
{
	umount2(test_path("small"), MNT_DETACH);
	return test_dir_remove(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(killed_writers),
		cmocka_unit_test(recover_refuses),
		cmocka_unit_test(readers_without_rights),
		cmocka_unit_test(leftovers_read_without_rights),
		cmocka_unit_test(copy_in_read_only_folder),
		cmocka_unit_test(full_tmpfs),
		cmocka_unit_test(file_size_limit),
		cmocka_unit_test(finish_beside_a_reader),
	};
	return cmocka_run_group_tests(tests, test_dir_make, clean_up);
}
