// SPDX-License-Identifier: GPL-2.0-or-later
/* Sets of counters of the kernel's own events, by the public interface. */
#include <cmocka.h>
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libvmop/vmop.h"

#define PAGE 4096

/* AddressSanitizer's shadow of touched memory causes faults of its own. */
#ifdef __SANITIZE_ADDRESS__
#define SHADOW_OF(n_faults) ((n_faults) / 4 + 50)
#else
#define SHADOW_OF(n_faults) 0
#endif

/* Cause that many page faults, of pages of their own. */
static void touch(size_t n)
{
	char *pages =
		mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(pages, MAP_FAILED);
	madvise(pages, n * PAGE, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < n; i++)
		((volatile char *)pages)[i * PAGE] = 1;
	munmap(pages, n * PAGE);
}

static struct vmop_counters *must_open(const char *events, uint32_t scope, int32_t id,
				       uint32_t flags)
{
	struct vmop_counters_options options = {
		.size = sizeof(options), .scope = scope, .flags = flags, .id = id};
	struct vmop_counters *counters;
	struct vmop_error *err = vmop_counters_open(events, &options, &counters);
	if (err)
		fail_msg("%s: %s", events, vmop_error_text(err));
	return counters;
}

static struct vmop_count must_read(struct vmop_counters *counters)
{
	struct vmop_count counts[8];
	assert_null(vmop_counters_read(counters, counts, 8));
	return counts[0];
}

static void a_thread_counts_its_own(void **state)
{
	(void)state;
	struct vmop_counters *counters =
		must_open("page-faults,task-clock", VMOP_SCOPE_THREAD, 0, 0);
	assert_int_equal(vmop_counters_n(counters), 2);
	assert_string_equal(vmop_counters_name(counters, 0), "page-faults");
	assert_string_equal(vmop_counters_unit(counters, 1), "ns");
	assert_null(vmop_counters_name(counters, 2));
	touch(100);
	assert_int_equal(must_read(counters).value, 0); /* not started */
	assert_int_equal(must_read(counters).flags, VMOP_COUNT_NOT_RUN);
	assert_null(vmop_counters_start(counters));
	touch(300);
	assert_null(vmop_counters_stop(counters));
	touch(100);
	struct vmop_count count = must_read(counters);
	assert_in_range(count.value, 300, 310 + SHADOW_OF(300));
	assert_int_equal(count.way, VMOP_BY_READ);
	assert_int_equal(count.flags, 0);
	assert_int_equal(count.estimate, count.value);
	uint64_t value = 0;
	assert_int_equal(vmop_counters_value(counters, 0, &value), VMOP_BY_READ);
	assert_int_equal(value, count.value);
	assert_int_equal(vmop_counters_value(counters, 2, &value), VMOP_BY_NOTHING);
	vmop_counters_close(counters);
}

static void *touch_200(void *arg)
{
	pthread_barrier_t *barrier = arg;
	if (barrier) {
		pthread_barrier_wait(barrier); /* it runs */
		pthread_barrier_wait(barrier); /* it is counted */
	}
	touch(200);
	return NULL;
}

static void a_process_counts_threads_and_children(void **state)
{
	(void)state;
	pthread_barrier_t barrier;
	pthread_t old, new;
	pthread_barrier_init(&barrier, NULL, 2);
	assert_int_equal(pthread_create(&old, NULL, touch_200, &barrier), 0);
	pthread_barrier_wait(&barrier);
	struct vmop_counters *all =
		must_open("{page-faults,context-switches}", VMOP_SCOPE_PROCESS, 0, 0);
	struct vmop_counters *own = must_open("page-faults", VMOP_SCOPE_THREAD, 0, 0);
	assert_null(vmop_counters_start(all));
	assert_null(vmop_counters_start(own));
	pthread_barrier_wait(&barrier);
	assert_int_equal(pthread_create(&new, NULL, touch_200, NULL), 0);
	pthread_join(old, NULL);
	pthread_join(new, NULL);
	pid_t pid = fork();
	if (pid == 0) {
		touch(400);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	struct vmop_count mine = must_read(own), count = must_read(all);
	/* Its own faults are those of threads and of forking; copied pages of the child add some.
	 */
	assert_in_range(count.value, 800 + mine.value, 1100 + SHADOW_OF(4000) + mine.value);
	assert_true(mine.value < 200);
	assert_int_equal(count.flags, 0);
	vmop_counters_close(all);
	vmop_counters_close(own);
	pthread_barrier_destroy(&barrier);
}

/* The counts of a process that has ended stay. */
static void a_process_that_ends(void **state)
{
	(void)state;
	int go[2];
	assert_int_equal(pipe(go), 0);
	pid_t pid = fork();
	if (pid == 0) {
		char byte;
		if (read(go[0], &byte, 1) == 1)
			touch(500);
		_exit(0);
	}
	struct vmop_counters *counters = must_open("page-faults", VMOP_SCOPE_PROCESS, pid, 0);
	assert_null(vmop_counters_start(counters));
	assert_int_equal(write(go[1], "", 1), 1);
	waitpid(pid, NULL, 0);
	assert_in_range(must_read(counters).value, 500, 600 + SHADOW_OF(2000));
	vmop_counters_close(counters);
	struct vmop_counters_options options = {
		.size = sizeof(options), .scope = VMOP_SCOPE_PROCESS, .id = pid};
	struct vmop_error *err = vmop_counters_open("page-faults", &options, &counters);
	assert_non_null(err);
	assert_non_null(strstr(vmop_error_text(err), "there is no process"));
	vmop_error_destroy(err);
	close(go[0]);
	close(go[1]);
}

/* Move the thread to the turn-th of the CPUs, which repeat. */
static void move_to(const cpu_set_t *cpus, unsigned turn)
{
	unsigned left = turn % (unsigned)CPU_COUNT(cpus);
	for (unsigned cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, cpus) || left-- > 0)
			continue;
		cpu_set_t one;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
		return;
	}
}

/* Values never go back while the thread is moved between CPUs and the set is read in two ways. */
static void values_never_go_back(void **state)
{
	(void)state;
	struct vmop_counters *counters =
		must_open("task-clock,{context-switches,cpu-migrations}", VMOP_SCOPE_THREAD, 0, 0);
	struct vmop_count last[3] = {{0}}, counts[3];
	cpu_set_t all;
	sched_getaffinity(0, sizeof(all), &all);
	assert_null(vmop_counters_start(counters));
	for (unsigned i = 0; i < 2000; i++) {
		if (i % 20 == 0)
			move_to(&all, i / 20);
		assert_null(vmop_counters_read(counters, counts, 3));
		uint64_t value;
		assert_int_equal(vmop_counters_value(counters, 0, &value), VMOP_BY_READ);
		assert_true(value >= counts[0].value);
		for (size_t j = 0; j < 3; j++) {
			assert_true(counts[j].value >= last[j].value);
			assert_true(counts[j].enabled_ns >= last[j].enabled_ns);
			last[j] = counts[j];
		}
	}
	sched_setaffinity(0, sizeof(all), &all);
	if (CPU_COUNT(&all) > 1)
		assert_in_range(last[2].value, 40, 400);
	vmop_counters_close(counters);
}

/* In the child of a fork, a set counts the parent. */
static void a_forked_child_reads_its_parent(void **state)
{
	(void)state;
	struct vmop_counters *counters = must_open("page-faults", VMOP_SCOPE_THREAD, 0, 0);
	assert_null(vmop_counters_start(counters));
	touch(50);
	uint64_t before = must_read(counters).value;
	pid_t pid = fork();
	if (pid == 0) {
		touch(500);
		uint64_t now = must_read(counters).value;
		vmop_counters_close(counters);
		_exit(now >= before && now < before + 300 ? 0 : 1);
	}
	int status;
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
	vmop_counters_close(counters);
}

static void expect(struct vmop_error *err, int kind, const char *words)
{
	assert_non_null(err);
	if (!strstr(vmop_error_text(err), words))
		fail_msg("'%s' does not contain '%s'", vmop_error_text(err), words);
	assert_int_equal(vmop_error_kind(err), kind);
	vmop_error_destroy(err);
}

static void wrong_arguments_are_refused(void **state)
{
	(void)state;
	struct vmop_counters *counters;
	struct vmop_counters_options options = {.size = 3};
	expect(vmop_counters_open("cs", &options, &counters), VMOP_KIND_USAGE, "size");
	options = (struct vmop_counters_options){.size = sizeof(options), .scope = 9};
	expect(vmop_counters_open("cs", &options, &counters), VMOP_KIND_USAGE, "scope");
	options = (struct vmop_counters_options){.size = sizeof(options), .id = -7};
	expect(vmop_counters_open("cs", &options, &counters), VMOP_KIND_USAGE, "-7");
	options = (struct vmop_counters_options){
		.size = sizeof(options), .scope = VMOP_SCOPE_CPU, .id = 60000};
	struct vmop_error *err = vmop_counters_open("cs", &options, &counters);
	assert_non_null(err);
	vmop_error_destroy(err);
	counters = must_open("cs,page-faults", VMOP_SCOPE_THREAD, 0, 0);
	struct vmop_count count;
	expect(vmop_counters_read(counters, &count, 1), VMOP_KIND_USAGE, "there are 2 events");
	struct vmop_region_count region;
	expect(vmop_region_end(counters, &region, 1), VMOP_KIND_USAGE, "has not begun");
	vmop_counters_close(counters);
	vmop_counters_close(NULL);
	assert_int_equal(vmop_error_kind(NULL), 0);
	assert_string_equal(vmop_error_text(NULL), "no error");
}

/* With a low limit of open files, many threads are an error with that reason. */
static void the_limit_of_files_is_named(void **state)
{
	(void)state;
	pid_t pid = fork();
	if (pid == 0) {
		struct rlimit limit = {.rlim_cur = 12, .rlim_max = 12};
		struct vmop_counters *counters;
		setrlimit(RLIMIT_NOFILE, &limit);
		struct vmop_error *err = vmop_counters_open(
			"cs,cs,cs,cs,cs,cs,cs,cs,cs,cs,cs,cs,cs,cs", NULL, &counters);
		_exit(err && vmop_error_kind(err) == VMOP_KIND_LIMIT &&
				      strstr(vmop_error_text(err), "ulimit -n")
			      ? 0
			      : 1);
	}
	int status;
	waitpid(pid, &status, 0);
	assert_int_equal(status, 0);
}

/*
 * For an unprivileged user, an event that this user may not count is an error or has a reason. All
 * other counts are true.
 */
static void without_rights(void **state)
{
	(void)state;
	if (geteuid() != 0)
		skip();
	pid_t pid = fork();
	if (pid == 0) {
		struct vmop_counters *counters;
		struct vmop_counters_options options = {.size = sizeof(options),
							.flags = VMOP_COUNTERS_SOME |
								 VMOP_COUNTERS_USER_IF_NEEDED};
		struct vmop_count counts[4];
		if (setresgid(65534, 65534, 65534) || setresuid(65534, 65534, 65534))
			_exit(2);
		if (vmop_counters_open("task-clock,context-switches,page-faults,cpu-migrations",
				       &options, &counters) ||
		    vmop_counters_start(counters))
			_exit(3);
		bool is_kernel = !vmop_counters_reason(counters, 1); /* paranoid below 2 */
		touch(70);
		usleep(1000);
		if (vmop_counters_read(counters, counts, 4))
			_exit(4);
		if (counts[0].value == 0 || counts[2].value < 70 ||
		    counts[2].value > 80 + SHADOW_OF(70))
			_exit(5);
		if (!is_kernel && (strcmp(vmop_counters_name(counters, 2), "page-faults:u") != 0 ||
				   strcmp(vmop_counters_name(counters, 0), "task-clock") != 0 ||
				   !(counts[1].flags & VMOP_COUNT_UNAVAILABLE) ||
				   !strstr(vmop_counters_reason(counters, 1), "not permitted") ||
				   !vmop_counters_reason(counters, 3)))
			_exit(6);
		options.flags = 0;
		struct vmop_error *err =
			vmop_counters_open("context-switches", &options, &counters);
		if (!is_kernel && (!err || vmop_error_kind(err) != VMOP_KIND_IMPOSSIBLE))
			_exit(7);
		options.id = getppid();
		err = vmop_counters_open("page-faults:::0:1", &options, &counters);
		_exit(err && strstr(vmop_error_text(err), "another user's") ? 0 : 8);
	}
	int status;
	waitpid(pid, &status, 0);
	assert_int_equal(WEXITSTATUS(status), 0);
	assert_true(WIFEXITED(status));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_thread_counts_its_own),
		cmocka_unit_test(a_process_counts_threads_and_children),
		cmocka_unit_test(a_process_that_ends),
		cmocka_unit_test(values_never_go_back),
		cmocka_unit_test(a_forked_child_reads_its_parent),
		cmocka_unit_test(wrong_arguments_are_refused),
		cmocka_unit_test(the_limit_of_files_is_named),
		cmocka_unit_test(without_rights),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
