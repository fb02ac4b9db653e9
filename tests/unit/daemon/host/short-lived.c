// SPDX-License-Identifier: GPL-2.0-or-later
/* Short-lived tasks with rows of their own, and the counts in their commands' rows. */
#include "tests/unit/daemon/common.h"

#include <signal.h>
#include <sys/resource.h>

#include "daemon/host/short-lived.h"

#define APART VMOP_SHORT_LIVED_APART
#define FIRST_PID 1000

/* A process that forks and executes "/bin/COMM". */
static void give_start(struct rig *rig, uint32_t pid, const char *comm)
{
	char path[32];
	snprintf(path, sizeof(path), "/bin/%s", comm);
	give_fork(rig, 1, pid, pid);
	give_comm(rig, pid, pid, comm, 1);
	give_mmap(rig, pid, 0x400000, 0x10000, 0, path, (uint8_t)comm[0]);
}

static void give_samples(struct rig *rig, uint32_t pid, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		give_sample(rig, pid, pid, 0x400000 + i * 16, VMOP_SAMPLE_USER);
}

/* Let a command start and end n times, with a sample each. */
static void give_lives(struct rig *rig, uint32_t first_pid, unsigned n, const char *comm)
{
	for (uint32_t pid = first_pid; pid < first_pid + n; pid++) {
		give_start(rig, pid, comm);
		give_samples(rig, pid, 1);
		give_exit(rig, pid, pid);
	}
}

/* Count the tasks in the merged rows of a command, and its tasks with a pid. */
static uint64_t merged(const struct session *session, const char *comm)
{
	uint64_t n = 0;
	for (size_t i = 0; i < session->n_tasks; i++)
		if (!strcmp(session->tasks[i].comm, comm))
			n += session->tasks[i].merged;
	return n;
}

static size_t with_pid(const struct session *session, const char *comm)
{
	size_t n = 0;
	for (size_t i = 0; i < session->n_tasks; i++)
		n += !strcmp(session->tasks[i].comm, comm) && session->tasks[i].pid;
	return n;
}

static uint64_t samples_of_pid(const struct session *session, uint32_t pid)
{
	uint64_t n = 0;
	for (size_t i = 0; i < session->n; i++)
		n += session->rows[i].pid == pid ? session->rows[i].samples : 0;
	return n;
}

static void check(const struct rig *rig)
{
	struct vmop_db *db;
	ok(vmop_db_open(rig->path, &db));
	ok(vmop_db_check(db));
	vmop_db_close(db);
}

static void a_few_keep_their_rows(void **state)
{
	struct rig rig;
	(void)state;
	rig_records_only(&rig, 0);
	give_lives(&rig, FIRST_PID, APART, "cc1");
	const struct session *session = rig_flush(&rig);
	assert_int_equal(with_pid(session, "cc1"), APART);
	assert_int_equal(merged(session, "cc1"), 0);
	assert_int_equal(samples_of(session, "/bin/cc1", "cc1"), APART);
	rig_end(&rig);
}

static void many_are_one_row_of_their_command(void **state)
{
	struct rig rig;
	(void)state;
	rig_records_only(&rig, 0);
	give_start(&rig, 10, "make");
	give_samples(&rig, 10, 1);
	give_lives(&rig, FIRST_PID, 100, "cc1");
	give_lives(&rig, 2000, 50, "as");
	give_start(&rig, 20, "cc1");
	give_samples(&rig, 20, 60); /* many samples, and it ended */
	give_exit(&rig, 20, 20);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(merged(session, "cc1"), 100);
	assert_int_equal(merged(session, "as"), 50);
	assert_int_equal(session->n_tasks, 4);
	assert_int_equal(samples_of(session, "/bin/cc1", "cc1"), 160);
	assert_int_equal(samples_of(session, "/bin/as", "as"), 50);
	assert_int_equal(samples_of_pid(session, 10), 1);
	assert_int_equal(samples_of_pid(session, 20), 60);
	for (size_t i = 0; i < session->n; i++)
		if (!session->rows[i].pid && !strcmp(session->rows[i].comm, "as"))
			assert_string_equal(session->rows[i].exe, "/bin/as");
	check(&rig);
	rig_end(&rig);
}

static void what_outlives_a_storm_has_its_row(void **state)
{
	struct rig rig;
	(void)state;
	rig_records_only(&rig, 0);
	give_start(&rig, 10, "make");
	give_lives(&rig, FIRST_PID, 100, "cc1");
	rig_flush(&rig);
	/* From now on, a command has one id in the interval in which its processes begin. */
	give_samples(&rig, 10, 2);
	give_lives(&rig, 2000, 100, "cc1");
	give_start(&rig, 30, "cc1");
	give_samples(&rig, 30, 5);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(merged(session, "cc1"), 201);
	assert_int_equal(with_pid(session, "cc1"), 0);
	assert_int_equal(samples_of_pid(session, 10), 2);
	give_samples(&rig, 30, 7);
	give_comm(&rig, 30, 30, "renamed", 0);
	give_samples(&rig, 30, 3);
	session = rig_flush(&rig);
	assert_int_equal(samples_of_pid(session, 30), 10);
	assert_int_equal(samples_of(session, NULL, "renamed"), 3);
	assert_int_equal(samples_of(session, NULL, "cc1"), 212);
	/* Few processes begin: they have rows of their own again. */
	give_lives(&rig, 3000, 2, "cc1");
	session = rig_flush(&rig);
	assert_int_equal(with_pid(session, "cc1"), 3);
	assert_int_equal(merged(session, "cc1"), 201);
	check(&rig);
	rig_end(&rig);
}

static void a_new_name_in_a_storm_is_another_command(void **state)
{
	struct rig rig;
	(void)state;
	rig_records_only(&rig, 0);
	give_lives(&rig, FIRST_PID, 100, "cc1");
	rig_flush(&rig);
	for (uint32_t pid = 2000; pid < 2040; pid++) {
		give_start(&rig, pid, "sh");
		give_samples(&rig, pid, 2);
		give_comm(&rig, pid, pid, "ld", 1);
		give_mmap(&rig, pid, 0x400000, 0x10000, 0, "/bin/ld", 'l');
		give_samples(&rig, pid, 3);
		give_exit(&rig, pid, pid);
	}
	const struct session *session = rig_flush(&rig);
	assert_int_equal(merged(session, "sh"), 40);
	assert_int_equal(merged(session, "ld"), 40);
	assert_int_equal(samples_of(session, "/bin/sh", "sh"), 80);
	assert_int_equal(samples_of(session, "/bin/ld", "ld"), 120);
	check(&rig);
	rig_end(&rig);
}

static void more_commands_than_groups(void **state)
{
	struct rig rig;
	(void)state;
	rig_records_only(&rig, 0);
	give_lives(&rig, FIRST_PID, 100, "cc1");
	rig_flush(&rig);
	for (uint32_t i = 0; i < 3 * VMOP_TASK_GROUPS_MAX; i++) {
		char comm[16];
		snprintf(comm, sizeof(comm), "c%u", i);
		give_lives(&rig, 2000 + 4 * i, 2, comm);
	}
	const struct session *session = rig_flush(&rig);
	for (uint32_t i = 0; i < 3 * VMOP_TASK_GROUPS_MAX; i++) {
		char comm[16];
		snprintf(comm, sizeof(comm), "c%u", i);
		assert_int_equal(samples_of(session, NULL, comm), 2);
		assert_int_equal(merged(session, comm), 2);
	}
	check(&rig);
	rig_end(&rig);
}

static void all_keep_their_rows_when_asked(void **state)
{
	struct rig rig;
	(void)state;
	rig_records_only(&rig, VMOP_SETUP_SEPARATE_THREAD);
	for (int second = 0; second < 3; second++) {
		give_lives(&rig, FIRST_PID + 100 * (uint32_t)second, 100, "cc1");
		rig_flush(&rig);
	}
	assert_int_equal(with_pid(&rig.session, "cc1"), 300);
	rig_end(&rig);
	rig_folder(&rig);
	rig_begin(&rig, (struct vmop_profiler_options){.is_replay = true, .keeps_tasks = true});
	for (int second = 0; second < 3; second++) {
		give_lives(&rig, FIRST_PID + 100 * (uint32_t)second, 100, "cc1");
		rig_flush(&rig);
	}
	assert_int_equal(with_pid(&rig.session, "cc1"), 300);
	rig_end(&rig);
}

static void a_full_disk_counts_them_once(void **state)
{
	struct rig rig;
	struct rlimit before, small;
	(void)state;
	rig_records_only(&rig, 0);
	signal(SIGXFSZ, SIG_IGN);
	give_lives(&rig, FIRST_PID, 100, "cc1");
	rig_flush(&rig);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = before;
	small.rlim_cur = 4096;
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (uint32_t round = 0; round < 3; round++) {
		give_lives(&rig, 2000 + 100 * round, 100, "cc1");
		struct vmop_error *err = vmop_profiler_flush(rig.profiler, 5, 1);
		assert_non_null(err);
		vmop_error_destroy(err);
	}
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	const struct session *session = rig_flush(&rig);
	assert_int_equal(samples_of(session, "/bin/cc1", "cc1"), 400);
	assert_int_equal(merged(session, "cc1"), 400);
	check(&rig);
	rig_end(&rig);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_few_keep_their_rows),
		cmocka_unit_test(many_are_one_row_of_their_command),
		cmocka_unit_test(what_outlives_a_storm_has_its_row),
		cmocka_unit_test(a_new_name_in_a_storm_is_another_command),
		cmocka_unit_test(more_commands_than_groups),
		cmocka_unit_test(all_keep_their_rows_when_asked),
		cmocka_unit_test(a_full_disk_counts_them_once),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
