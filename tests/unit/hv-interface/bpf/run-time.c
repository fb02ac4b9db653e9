// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The times of this machine's own tasks by the BPF program, against the kernel's own accounts:
 * threads and children that live, end, and execute programs from another thread than the first.
 */
#include "hv-interface/bpf/run-time.h"

#include <cmocka.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "libutil/clock.h"

/*
 * The kernel's account is read before or after the program's, and the scheduler may run others
 * in between.
 */
#define SLACK_NS 3000000

static struct vmop_run_time *run_time;

static void burn(clockid_t clock, unsigned ms)
{
	uint64_t end_ns = vmop_clock_ns(clock) + ms * VMOP_NS_PER_MS;
	while (vmop_clock_ns(clock) < end_ns)
		;
}

static int begin_options(const struct vmop_run_time_options *options)
{
	struct vmop_error *err = vmop_run_time_create(options, &run_time);
	if (err)
		print_message("%s\n", err->message);
	return err != NULL;
}

static int begin_process(void **state)
{
	(void)state;
	struct vmop_run_time_options options = {.tgid = getpid()};
	vmop_steal_clock_find(&options.clock);
	return begin_options(&options);
}

static int begin_thread(void **state)
{
	(void)state;
	struct vmop_run_time_options options = {.tid = gettid()};
	vmop_steal_clock_find(&options.clock);
	return begin_options(&options);
}

static int begin_all(void **state)
{
	(void)state;
	const struct vmop_run_time_options options = {0};
	return begin_options(&options);
}

static int end(void **state)
{
	(void)state;
	vmop_run_time_destroy(run_time);
	run_time = NULL;
	return 0;
}

static const struct vmop_run_time_task *find(pid_t tid, const char *comm)
{
	size_t n;
	const struct vmop_run_time_task *tasks = vmop_run_time_tasks(run_time, &n);
	for (size_t i = 0; i < n; i++)
		if ((!tid || tasks[i].tid == tid) && (!comm || strcmp(tasks[i].comm, comm) == 0))
			return &tasks[i];
	return NULL;
}

static void assert_near(uint64_t value, uint64_t wanted, uint64_t slack)
{
	print_message("# %" PRIu64 " us, by the kernel %" PRIu64 "\n", value / 1000, wanted / 1000);
	assert_true(value + slack >= wanted && value <= wanted + slack);
}

struct burner {
	pthread_t thread;
	pthread_barrier_t *barrier;
	unsigned ms;
	pid_t tid;
	uint64_t used_ns;
};

static void *burn_thread(void *arg)
{
	struct burner *burner = arg;
	prctl(PR_SET_NAME, "burner");
	burner->tid = gettid();
	burn(CLOCK_THREAD_CPUTIME_ID, burner->ms);
	burner->used_ns = vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (burner->barrier) {
		pthread_barrier_wait(burner->barrier);
		pthread_barrier_wait(burner->barrier);
	}
	return NULL;
}

/* Threads that have ended, one that blocks, and this one, which runs while it is read. */
static void test_threads(void **state)
{
	(void)state;
	pthread_barrier_t barrier;
	struct burner burners[] = {{.ms = 10}, {.ms = 30}, {.ms = 20, .barrier = &barrier}};
	pthread_barrier_init(&barrier, NULL, 2);
	uint64_t process_ns = vmop_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	uint64_t own_ns = vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&burners[i].thread, NULL, burn_thread, &burners[i]),
				 0);
	pthread_join(burners[0].thread, NULL);
	pthread_join(burners[1].thread, NULL);
	pthread_barrier_wait(&barrier);
	burn(CLOCK_THREAD_CPUTIME_ID, 50);
	assert_null(vmop_run_time_read(run_time));
	own_ns = vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID) - own_ns;
	process_ns = vmop_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - process_ns;
	for (size_t i = 0; i < 3; i++) {
		const struct vmop_run_time_task *task = find(burners[i].tid, "burner");
		assert_non_null(task);
		assert_int_equal(task->tgid, getpid());
		assert_int_equal(task->has_ended, i < 2);
		assert_near(task->sums.virtual_ns, burners[i].used_ns, SLACK_NS);
		assert_int_equal(task->sums.user_ns + task->sums.system_ns, task->sums.virtual_ns);
		assert_true(task->sums.steal_ns <= task->sums.run_ns);
	}
	/* It was running when it was first seen: its account is its time on the CPU. */
	assert_near(find(gettid(), NULL)->sums.virtual_ns, own_ns, SLACK_NS);
	struct vmop_run_time_facts facts;
	vmop_run_time_facts(run_time, &facts);
	assert_near(facts.total.virtual_ns, process_ns, SLACK_NS);
	assert_int_equal(facts.n_tasks, 4);
	assert_int_equal(facts.n_refused + facts.n_unlisted, 0);
	pthread_barrier_wait(&barrier);
	pthread_join(burners[2].thread, NULL);
	pthread_barrier_destroy(&barrier);
}

static void *execute(void *arg)
{
	(void)arg;
	execl("/bin/true", "vmop-true", NULL);
	_exit(1);
}

/* Children and theirs; one executes a program from a second thread, which takes the first one's id.
 */
static void test_children(void **state)
{
	(void)state;
	struct rusage usage;
	pid_t pid = fork();
	if (pid == 0) {
		burn(CLOCK_THREAD_CPUTIME_ID, 20);
		if (fork() == 0) {
			burn(CLOCK_THREAD_CPUTIME_ID, 30);
			pthread_t thread;
			pthread_create(&thread, NULL, execute, NULL);
			pause();
		}
		wait(NULL);
		_exit(0);
	}
	int status;
	assert_int_equal(wait4(pid, &status, 0, &usage), pid);
	assert_int_equal(status, 0);
	assert_null(vmop_run_time_read(run_time));
	uint64_t wanted_ns =
		(uint64_t)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * VMOP_NS_PER_S +
		(uint64_t)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1000;
	uint64_t sum_ns = 0;
	size_t n, n_children = 0;
	const struct vmop_run_time_task *tasks = vmop_run_time_tasks(run_time, &n);
	for (size_t i = 0; i < n; i++) {
		if (tasks[i].tgid == getpid())
			continue;
		sum_ns += tasks[i].sums.virtual_ns;
		n_children++;
		assert_true(tasks[i].has_ended);
	}
	/* The first process, the second's first thread, and the thread that executed. */
	assert_int_equal(n_children, 3);
	/* The end of a task comes after its account was added to its parent's. */
	assert_near(sum_ns, wanted_ns, SLACK_NS);
	assert_non_null(find(0, "true"));
}

/* More tasks than the ring of ended ones holds at a time: all are in the total. */
static void test_many(void **state)
{
	(void)state;
	enum { ROUNDS = 30, THREADS = 400 };
	uint64_t used_ns = vmop_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	static struct burner burners[THREADS];
	for (int round = 0; round < ROUNDS; round++) {
		for (size_t i = 0; i < THREADS; i++)
			assert_int_equal(
				pthread_create(&burners[i].thread, NULL, burn_thread, &burners[i]),
				0);
		for (size_t i = 0; i < THREADS; i++)
			pthread_join(burners[i].thread, NULL);
	}
	assert_null(vmop_run_time_read(run_time));
	used_ns = vmop_clock_ns(CLOCK_PROCESS_CPUTIME_ID) - used_ns;
	struct vmop_run_time_facts facts;
	vmop_run_time_facts(run_time, &facts);
	print_message("# %" PRIu64 " tasks, %" PRIu64 " of them only in the total\n", facts.n_tasks,
		      facts.n_unlisted);
	assert_int_equal(facts.n_tasks, ROUNDS * THREADS + 1);
	assert_true(facts.n_unlisted > 0 && facts.n_unlisted < ROUNDS * THREADS / 2);
	/* A thread's account ends some microseconds before the thread, which the program sees. */
	assert_near(facts.total.virtual_ns, used_ns,
		    used_ns / 20 + ROUNDS * THREADS * UINT64_C(10000));
}

static void test_own_thread(void **state)
{
	(void)state;
	uint64_t before_ns, after_ns;
	struct burner other = {.ms = 10};
	assert_int_equal(pthread_create(&other.thread, NULL, burn_thread, &other), 0);
	pthread_join(other.thread, NULL);
	assert_true(vmop_run_time_own_steal(run_time, &before_ns));
	burn(CLOCK_THREAD_CPUTIME_ID, 10);
	assert_true(vmop_run_time_own_steal(run_time, &after_ns));
	assert_true(after_ns >= before_ns);
	assert_null(vmop_run_time_read(run_time));
	size_t n;
	const struct vmop_run_time_task *tasks = vmop_run_time_tasks(run_time, &n);
	assert_int_equal(n, 1);
	assert_int_equal(tasks[0].tid, gettid());
	assert_true(tasks[0].sums.virtual_ns >= 10 * VMOP_NS_PER_MS);
}

/* All tasks: no idle one, and never more than the CPUs can give. */
static void test_all(void **state)
{
	(void)state;
	uint64_t begun_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	burn(CLOCK_MONOTONIC, 100);
	assert_null(vmop_run_time_read(run_time));
	uint64_t ns = vmop_clock_ns(CLOCK_MONOTONIC) - begun_ns;
	struct vmop_run_time_facts facts;
	vmop_run_time_facts(run_time, &facts);
	assert_true(facts.total.virtual_ns >= find(gettid(), NULL)->sums.virtual_ns);
	assert_true(facts.total.run_ns <=
		    (ns + 20 * VMOP_NS_PER_MS) * (uint64_t)sysconf(_SC_NPROCESSORS_CONF));
	assert_null(find(0, "swapper/0"));
}

int main(void)
{
	if (begin_process(NULL)) {
		printf("SKIP: no run times\n");
		return 77;
	}
	end(NULL);
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_threads, begin_process, end),
		cmocka_unit_test_setup_teardown(test_children, begin_process, end),
		cmocka_unit_test_setup_teardown(test_many, begin_process, end),
		cmocka_unit_test_setup_teardown(test_own_thread, begin_thread, end),
		cmocka_unit_test_setup_teardown(test_all, begin_all, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
