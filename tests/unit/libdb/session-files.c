// SPDX-License-Identifier: GPL-2.0-or-later
#include "tests/unit/libdb/common.h"

#include <signal.h>
#include <sys/wait.h>

#include "libdb/session-files.h"

static bool is_there(const char *name)
{
	return access(test_path(name), F_OK) == 0;
}

static void one_interval(struct vmop_db *db)
{
	const struct vmop_db_cell cell = {.offset = 16, .samples = 3, .weight_events = 3};
	assert_ok(vmop_db_begin_interval(db, TEST_START_NS, VMOP_NS_PER_S));
	assert_ok(vmop_db_put_chunk(
		db, &(struct vmop_db_chunk_key){.vcpu = -1, .cpu = -1, .image = {1}}, &cell, 1));
	assert_ok(vmop_db_commit(db));
}

/* Create a finished session, or one whose writer was killed. */
static void make_current(const char *start_ns, bool is_killed)
{
	pid_t child = fork();
	if (child == 0) {
		struct vmop_db *db = NULL;
		assert_ok(vmop_db_create(test_path("current.vmop"), &db));
		put_facts(db);
		if (start_ns)
			assert_ok(vmop_db_put_info(db, "start_ns", start_ns));
		one_interval(db);
		if (is_killed)
			kill(getpid(), SIGKILL);
		assert_ok(vmop_db_finish(db));
		_exit(0);
	}
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(WIFSIGNALED(status), is_killed);
	assert_int_equal(is_there("current.vmop-wal"), is_killed);
}

static struct vmop_error *add(void *arg, const struct vmop_db_total *total)
{
	*(uint64_t *)arg += total->samples;
	return NULL;
}

static uint64_t samples_in(const char *name)
{
	struct vmop_db *db = NULL;
	uint64_t sum = 0;
	assert_ok(vmop_db_open(test_path(name), &db));
	assert_ok(vmop_db_each_total(db, &(struct vmop_db_filter){0}, add, &sum));
	vmop_db_close(db);
	return sum;
}

static void names(void **state)
{
	(void)state;
	static const char *const good[] = {"a", "before-the-change", "2026-11-21T10.00_x+y@z"};
	static const char *const bad[] = {"",	 ".",	    "..",     ".hidden", "-x",	"a/b",
					  "a b", "current", "x.vmop", "a\n",	 "\xff"};
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_ok(vmop_session_check_name(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_error(vmop_session_check_name(bad[i]), VMOP_ERROR_USAGE, "session name");
	char longest[130];
	memset(longest, 'a', 129);
	longest[129] = '\0';
	assert_error(vmop_session_check_name(longest), VMOP_ERROR_USAGE, "128");
	assert_ok(vmop_session_check_name(longest + 1));
}

static void save(void **state)
{
	(void)state;
	assert_error(vmop_session_save(test_dir, "first"), VMOP_ERROR_NOT_FOUND, "no current");
	make_current("1700000000000000000", false);
	assert_ok(vmop_session_save(test_dir, "first"));
	assert_false(is_there("current.vmop"));
	assert_int_equal(samples_in("first.vmop"), 3);
	/* Saving never overwrites a session. */
	make_current("1700000001000000000", true);
	assert_error(vmop_session_save(test_dir, "first"), VMOP_ERROR_CANT, "already");
	assert_true(is_there("current.vmop"));
	/* The commits of a killed writer are in the one file. */
	assert_ok(vmop_session_save(test_dir, "second"));
	assert_false(is_there("second.vmop-wal"));
	assert_false(is_there("current.vmop-wal"));
	assert_int_equal(samples_in("second.vmop"), 3);
}

static void keep(void **state)
{
	(void)state;
	_cleanup_free_ char *none = NULL, *a = NULL, *b = NULL, *c = NULL;
	assert_ok(vmop_session_keep(test_dir, &none));
	assert_null(none);
	make_current("1700000000123456789", true);
	assert_ok(vmop_session_keep(test_dir, &a));
	assert_string_equal(a, "20231114T221320");
	assert_int_equal(samples_in("20231114T221320.vmop"), 3);
	make_current("1700000000999999999", false); /* within the same second */
	assert_ok(vmop_session_keep(test_dir, &b));
	assert_string_equal(b, "20231114T221320-2");
	/* A file that is no session is kept as it is, named by the file's time. */
	FILE *file = fopen(test_path("current.vmop"), "w");
	assert_non_null(file);
	fputs("garbage", file);
	fclose(file);
	assert_ok(vmop_session_keep(test_dir, &c));
	assert_non_null(c);
	assert_false(is_there("current.vmop"));
}

static void a_reader_is_no_hindrance(void **state)
{
	(void)state;
	struct vmop_db *reader = NULL;
	uint64_t sum = 0;
	make_current("1700001000000000000", true);
	assert_ok(vmop_db_open(test_path("current.vmop"), &reader));
	assert_ok(vmop_db_begin_snapshot(reader));
	assert_ok(vmop_session_save(test_dir, "while-read"));
	assert_ok(vmop_db_each_total(reader, &(struct vmop_db_filter){0}, add, &sum));
	assert_int_equal(sum, 3);
	vmop_db_close(reader);
	assert_int_equal(samples_in("while-read.vmop"), 3);
}

static void discard(void **state)
{
	(void)state;
	assert_error(vmop_session_discard(test_dir), VMOP_ERROR_NOT_FOUND, "no current");
	make_current(NULL, true);
	assert_ok(vmop_session_discard(test_dir));
	assert_false(is_there("current.vmop"));
	assert_false(is_there("current.vmop-wal"));
	assert_false(is_there("current.vmop-shm"));
}

/* Create the session of a guest of a session, or part of it. */
static void make_of_guest(const char *name)
{
	FILE *file = fopen(test_path(name), "w");
	assert_non_null(file);
	fputs("a guest's", file);
	fclose(file);
}

/* A session is discarded while the next one takes its place, which must not get its guests. */
static void discarded_guests_go(void)
{
	_cleanup_free_ char *current = vmop_session_path(test_dir, VMOP_SESSION_CURRENT);
	_cleanup_free_ char *discarded = vmop_session_discarded_path(test_dir);
	make_current("1710000000000000000", false);
	make_of_guest("current~web1.vmop");
	assert_ok(vmop_session_move(current, discarded));
	assert_false(is_there("current~web1.vmop"));
	/* A move back undoes the first move. */
	assert_ok(vmop_session_move(discarded, current));
	assert_true(is_there("current~web1.vmop"));
	assert_ok(vmop_session_move(current, discarded));
	assert_ok(vmop_session_remove(discarded));
	assert_false(is_there("current.vmop.discarded"));
	assert_false(is_there("current.vmop.discarded~web1.vmop"));
	assert_false(is_there("current~web1.vmop"));
}

static void guests_go_with_their_session(void **state)
{
	(void)state;
	_cleanup_free_ char *file = vmop_session_guest_file("../a b~c\xff");
	_cleanup_free_ char *kept = NULL, *none = NULL;
	unsigned n = 0;
	assert_string_equal(file, "current~.._a_b_c_.vmop");
	_cleanup_free_ char *beside = vmop_session_guest_file_beside("/a~b/c.d/Mon day.vmop", file);
	assert_string_equal(beside, "Mon day~.._a_b_c_.vmop");
	assert_error(vmop_session_check_name("current~web1"), VMOP_ERROR_USAGE, "session name");
	make_current("1710000000000000000", false);
	make_of_guest("current~web1.vmop");
	make_of_guest("current~db.vmop.new");
	make_of_guest("currents.vmop");
	assert_ok(vmop_session_save(test_dir, "mine"));
	assert_true(is_there("mine~web1.vmop"));
	assert_false(is_there("current~web1.vmop"));
	assert_true(is_there("currents.vmop"));
	/* One that did not arrive belongs to no session, and goes when the next one begins. */
	assert_false(is_there("mine~db.vmop.new"));
	assert_ok(vmop_session_remove(test_path("current.vmop")));
	assert_false(is_there("current~db.vmop.new"));
	assert_ok(vmop_session_move(test_path("mine.vmop"), test_path("other.vmop")));
	assert_true(is_there("other~web1.vmop"));
	assert_ok(vmop_session_delete(test_dir, "other"));
	assert_false(is_there("other~web1.vmop"));
	discarded_guests_go();
	make_current("1710000000000000000", false);
	make_of_guest("current~web1.vmop");
	assert_ok(vmop_session_keep(test_dir, &kept));
	assert_string_equal(kept, "20240309T160000");
	assert_true(is_there("20240309T160000~web1.vmop"));
	assert_ok(vmop_session_expire(test_dir, vmop_clock_ns(CLOCK_REALTIME) + VMOP_NS_PER_S * 9,
				      UINT64_MAX, &n));
	assert_false(is_there("20240309T160000.vmop"));
	assert_false(is_there("20240309T160000~web1.vmop"));
	make_current(NULL, false);
	make_of_guest("current~web1.vmop");
	assert_ok(vmop_session_discard(test_dir));
	assert_false(is_there("current~web1.vmop"));
	unlink(test_path("currents.vmop"));
	assert_ok(vmop_session_keep(test_dir, &none));
	assert_null(none);
}

static void link_to(const char *old, const char *new)
{
	assert_int_equal(link(test_path(old), test_path(new)), 0);
}

/* As after a kill in the middle of a move. Files with one name, and those beside a session, stay.
 */
static void second_names_go(void **state)
{
	(void)state;
	make_current(NULL, true);
	make_of_guest("kept.vmop");
	make_of_guest("alone.vmop-wal");
	link_to("current.vmop-wal", "moved.vmop-wal");
	link_to("current.vmop-shm", "moved.vmop-shm");
	link_to("current.vmop-wal", "kept.vmop-wal");
	link_to("current.vmop-wal", "notes-wal");
	vmop_session_remove_second_names(test_dir);
	assert_false(is_there("moved.vmop-wal") || is_there("moved.vmop-shm"));
	assert_true(is_there("current.vmop-wal") && is_there("current.vmop-shm"));
	assert_true(is_there("kept.vmop-wal") && is_there("notes-wal"));
	assert_true(is_there("alone.vmop-wal"));
	assert_int_equal(samples_in("current.vmop"), 3);
	assert_int_equal(unlink(test_path("alone.vmop-wal")) | unlink(test_path("notes-wal")), 0);
	assert_ok(vmop_session_delete(test_dir, "kept"));
	assert_ok(vmop_session_discard(test_dir));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(guests_go_with_their_session),
		cmocka_unit_test(second_names_go),
		cmocka_unit_test(names),
		cmocka_unit_test(save),
		cmocka_unit_test(keep),
		cmocka_unit_test(a_reader_is_no_hindrance),
		cmocka_unit_test(discard),
	};
	return cmocka_run_group_tests(tests, test_dir_make, test_dir_remove);
}
