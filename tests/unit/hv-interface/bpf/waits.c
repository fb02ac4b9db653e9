// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The division of threads' time by the BPF program of waits, on this machine's own scheduler, with
 * threads of this process for vCPUs: their sums against the clock and against schedstat, who had
 * the CPU, sleep, and the cost.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <cmocka.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hv-interface/bpf/waits-open.h"
#include "libutil/clock.h"

enum { GUEST = 7, OTHER = 8, MAX_THREADS = 4, N_GUESTS = 12 };

/* A thread that computes for a part of each millisecond, or all of it, on one CPU. */
struct worker {
	pthread_t thread;
	unsigned cpu, percent;
	_Atomic pid_t tid;
	atomic_bool ends;
	void (*_Atomic task)(void); /* that the thread is to run once, while it has its CPU */
};

static void *work(void *arg)
{
	struct worker *worker = arg;
	cpu_set_t cpus;
	CPU_ZERO(&cpus);
	CPU_SET(worker->cpu, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	prctl(PR_SET_NAME, "vmop-thread");
	worker->tid = (pid_t)syscall(SYS_gettid);
	while (!worker->ends) {
		uint64_t begun_ns = vmop_clock_ns(CLOCK_MONOTONIC);
		if (worker->task) {
			worker->task();
			worker->task = NULL;
		}
		while (!worker->ends && !worker->task &&
		       vmop_clock_ns(CLOCK_MONOTONIC) - begun_ns < worker->percent * 10000u)
			;
		const struct timespec rest = {.tv_nsec = (100 - (long)worker->percent) * 10000};
		if (worker->percent < 100)
			nanosleep(&rest, NULL);
	}
	return NULL;
}

static struct worker workers[MAX_THREADS];
static size_t n_workers;

static struct worker *start(unsigned cpu, unsigned percent)
{
	struct worker *worker = &workers[n_workers];
	*worker = (struct worker){.cpu = cpu, .percent = percent};
	assert_int_equal(pthread_create(&worker->thread, NULL, work, worker), 0);
	n_workers++;
	while (!worker->tid)
		usleep(1000);
	return worker;
}

static struct vmop_waits *waits;

/* The sums of one vCPU. */
struct sums {
	uint64_t states[VMOP_WAIT_N_STATES], all;
	uint64_t by_guest, by_process, by_worker, by_others, by_idle, by_cgroup;
};
static struct sums sums[MAX_THREADS];

/* The time that vCPU 0 waited for each guest from OTHER on. */
static uint64_t by_other_ns[N_GUESTS];

static void add(void *arg, const struct vmop_waits_amount *amount)
{
	struct sums *of = &sums[amount->vcpu];
	(void)arg;
	assert_int_equal(amount->guest, GUEST);
	of->states[amount->state] += amount->time_ns;
	of->all += amount->time_ns;
	if (amount->state != VMOP_WAIT_WAITING)
		return;
	if (amount->vcpu == 0 && amount->culprit == VMOP_CULPRIT_GUEST &&
	    amount->culprit_id - OTHER < N_GUESTS)
		by_other_ns[amount->culprit_id - OTHER] += amount->time_ns;
	of->by_worker += strcmp(amount->culprit_comm, "vmop-worker") ? 0 : amount->time_ns;
	*(amount->culprit == VMOP_CULPRIT_GUEST	    ? &of->by_guest
	  : amount->culprit == VMOP_CULPRIT_PROCESS ? &of->by_process
	  : amount->culprit == VMOP_CULPRIT_CGROUP  ? &of->by_cgroup
	  : amount->culprit == VMOP_CULPRIT_IDLE    ? &of->by_idle
						    : &of->by_others) += amount->time_ns;
}

static void add_address(void *arg, const struct vmop_waits_address *address)
{
	(void)arg;
	(void)address;
}

static const struct vmop_waits_sink sink = {.amount = add, .address = add_address};

struct schedstat {
	uint64_t run_ns, wait_ns;
};

static struct schedstat schedstat(pid_t tid)
{
	char path[64];
	struct schedstat ret = {0};
	snprintf(path, sizeof(path), "/proc/%d/schedstat", tid);
	FILE *file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%" SCNu64 " %" SCNu64, &ret.run_ns, &ret.wait_ns), 2);
	fclose(file);
	return ret;
}

/*
 * Worker i is watched as vCPU i. Worker 0 itself begins and ends that: schedstat counts no wait
 * that goes on.
 */
static uint32_t n_watched;
static uint64_t begun_ns, ended_ns;
static struct schedstat before[MAX_THREADS], after[MAX_THREADS];
/* The same inside of that time: the thread may lose its CPU between two readings. */
static struct schedstat begun, ending;

static void begin_watching(void)
{
	begun_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	for (size_t i = 0; i < n_workers; i++)
		before[i] = schedstat(workers[i].tid);
	for (uint32_t i = 0; i < n_watched; i++)
		assert_true(vmop_waits_watch(waits, (uint32_t)workers[i].tid, GUEST, i));
	begun = schedstat(workers[0].tid);
}

static void end_watching(void)
{
	ending = schedstat(workers[0].tid);
	vmop_waits_take(waits, &sink);
	for (size_t i = 0; i < n_workers; i++)
		after[i] = schedstat(workers[i].tid);
	ended_ns = vmop_clock_ns(CLOCK_MONOTONIC);
}

static void run_on_worker(void (*task)(void))
{
	workers[0].task = task;
	while (workers[0].task)
		usleep(1000);
}

/* Watch the first n workers for a time, in several takes. Return how long that was. */
static uint64_t watch(uint32_t n, unsigned takes)
{
	n_watched = n;
	run_on_worker(begin_watching);
	for (unsigned take = 0; take < takes; take++) {
		usleep(250000);
		vmop_waits_take(waits, &sink);
	}
	run_on_worker(end_watching);
	return ended_ns - begun_ns;
}

static void print(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		print_message("# vcpu %u:", i);
		for (unsigned state = 0; state < VMOP_WAIT_N_STATES; state++)
			print_message(" %.3f", (double)sums[i].states[state] / 1e6);
		print_message(" ms; by guest %.3f, process %.3f, cgroup %.3f, idle %.3f, others "
			      "%.3f\n",
			      (double)sums[i].by_guest / 1e6, (double)sums[i].by_process / 1e6,
			      (double)sums[i].by_cgroup / 1e6, (double)sums[i].by_idle / 1e6,
			      (double)sums[i].by_others / 1e6);
	}
	struct vmop_waits_facts facts;
	vmop_waits_facts(waits, &facts);
	print_message("# %.0f ns a switch, %.0f a wake-up, %.0f an exit; %" PRIu64 " switches\n",
		      facts.switch_ns, facts.wakeup_ns, facts.exit_ns, facts.n_switches);
}

/* Return whether a differs from b by less than a share of whole. */
static bool is_near(uint64_t a, uint64_t b, double share, uint64_t whole)
{
	double difference = a > b ? (double)(a - b) : (double)(b - a);
	return difference <= share * (double)whole;
}

static uint64_t run_ns(size_t worker)
{
	return after[worker].run_ns - before[worker].run_ns;
}

/* Return whether a sum is between two others, within 1 % of whole. */
static bool is_between(uint64_t sum, uint64_t least, uint64_t most, uint64_t whole)
{
	return (sum >= least || is_near(sum, least, 0.01, whole)) &&
	       (sum <= most || is_near(sum, most, 0.01, whole));
}

/* Compare vCPU 0 with the clock and with the scheduler's own sums. */
static void compare(uint64_t wall_ns)
{
	uint64_t wait_ns = after[0].wait_ns - before[0].wait_ns;
	uint64_t waited_ns = sums[0].states[VMOP_WAIT_WAITING] + sums[0].states[VMOP_WAIT_QUOTA];
	print_message("# vcpu 0 of %.3f ms: schedstat %.3f running, %.3f waiting\n",
		      (double)wall_ns / 1e6, (double)run_ns(0) / 1e6, (double)wait_ns / 1e6);
	assert_true(is_near(sums[0].all, wall_ns, 0.05, wall_ns));
	assert_true(is_between(sums[0].states[VMOP_WAIT_RUNNING], ending.run_ns - begun.run_ns,
			       run_ns(0), wall_ns));
	assert_true(is_between(waited_ns, ending.wait_ns - begun.wait_ns, wait_ns, wall_ns));
	assert_true(sums[0].states[VMOP_WAIT_UNKNOWN] < wall_ns / 100);
}

/* Two vCPUs and a process share a CPU. */
static void test_contention(void **state)
{
	(void)state;
	for (unsigned i = 0; i < 3; i++)
		start(0, 100);
	uint64_t wall_ns = watch(2, 6);
	print(2);
	compare(wall_ns);
	assert_true(is_near(sums[1].all, sums[0].all, 0.01, wall_ns));
	/*
	 * Whenever a worker runs, the others wait for it: for the other vCPU's guest, or for the
	 * third, which is no guest's.
	 */
	assert_true(is_near(sums[0].by_guest, run_ns(1), 0.05, wall_ns));
	if (!sums[0].by_cgroup)
		assert_true(is_near(sums[0].by_worker, run_ns(2), 0.05, wall_ns));
}

/* The same, and the process is a guest's: then a guest is the culprit. */
static void test_guest(void **state)
{
	(void)state;
	assert_true(vmop_waits_put_guest(waits, (uint32_t)getpid(), OTHER));
	for (unsigned i = 0; i < 2; i++)
		start(0, 100);
	uint64_t wall_ns = watch(1, 4);
	print(1);
	compare(wall_ns);
	assert_true(is_near(sums[0].by_guest, run_ns(1), 0.05, wall_ns));
	assert_int_equal(sums[0].by_worker, 0);
}

/* Compute on a CPU, as a process of its own, until the test ends. */
static pid_t compute_on(unsigned cpu)
{
	pid_t pid = fork();
	if (pid)
		return pid;
	cpu_set_t cpus;
	CPU_ZERO(&cpus);
	CPU_SET(cpu, &cpus);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	for (;;)
		__asm__ volatile("");
}

/* A vCPU waits for more culprits than it has places for: the others are in the map of pairs. */
static void test_many_culprits(void **state)
{
	pid_t pids[N_GUESTS];
	uint64_t run_before_ns[N_GUESTS], run_after_ns[N_GUESTS], sum_ns = 0;
	_Static_assert(N_GUESTS > VMOP_WAITS_PLACES, "some have no place");
	(void)state;
	memset(by_other_ns, 0, sizeof(by_other_ns));
	start(0, 100);
	for (uint32_t i = 0; i < N_GUESTS; i++) {
		pids[i] = compute_on(0);
		assert_true(pids[i] > 0);
		assert_true(vmop_waits_put_guest(waits, (uint32_t)pids[i], OTHER + i));
	}
	for (uint32_t i = 0; i < N_GUESTS; i++)
		run_before_ns[i] = schedstat(pids[i]).run_ns;
	uint64_t wall_ns = watch(1, 6);
	for (uint32_t i = 0; i < N_GUESTS; i++)
		run_after_ns[i] = schedstat(pids[i]).run_ns; /* at once: they go on */
	for (uint32_t i = 0; i < N_GUESTS; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	print(1);
	compare(wall_ns);
	for (uint32_t i = 0; i < N_GUESTS; i++) {
		assert_true(
			is_near(by_other_ns[i], run_after_ns[i] - run_before_ns[i], 0.05, wall_ns));
		assert_true(by_other_ns[i] > 0);
		sum_ns += by_other_ns[i];
	}
	print_message("# %.6f ms for these guests, of %.6f for any\n", (double)sum_ns / 1e6,
		      (double)sums[0].by_guest / 1e6);
	assert_true(is_near(sum_ns, sums[0].by_guest, 0.01, wall_ns));
}

/* A thread that sleeps outside of KVM. */
static void test_sleep(void **state)
{
	(void)state;
	start(0, 25);
	uint64_t wall_ns = watch(1, 4);
	print(1);
	compare(wall_ns);
	assert_true(sums[0].states[VMOP_WAIT_VMM] > wall_ns / 20);
	assert_int_equal(sums[0].states[VMOP_WAIT_HALTED], 0);
}

static void *sleep_long(void *arg)
{
	*(_Atomic pid_t *)arg = (pid_t)syscall(SYS_gettid);
	pause();
	return NULL;
}

/* A thread behind more than 64 others, which a CPU's first word of the mask does not hold. */
static void test_many(void **state)
{
	enum { MANY = 70 };
	pthread_t threads[MANY];
	static _Atomic pid_t tids[MANY];
	(void)state;
	for (unsigned i = 0; i < MANY; i++) {
		tids[i] = 0;
		assert_int_equal(pthread_create(&threads[i], NULL, sleep_long, &tids[i]), 0);
		while (!tids[i])
			usleep(100);
		assert_true(vmop_waits_watch(waits, (uint32_t)tids[i], GUEST, 2));
	}
	for (unsigned i = 0; i < 2; i++)
		start(0, 100);
	uint64_t wall_ns = watch(1, 4);
	print(1);
	compare(wall_ns);
	assert_true(sums[2].states[VMOP_WAIT_VMM] > 60 * wall_ns);
	for (unsigned i = 0; i < MANY; i++) {
		pthread_cancel(threads[i]);
		pthread_join(threads[i], NULL);
	}
}

/* A thread that is no longer watched leaves nothing, and its slot can be used again. */
static void test_unwatch(void **state)
{
	struct vmop_waits_facts facts;
	(void)state;
	start(0, 100);
	for (unsigned round = 0; round < 3; round++) {
		memset(sums, 0, sizeof(sums));
		watch(1, 1);
		vmop_waits_retain(waits); /* it was renewed */
		vmop_waits_facts(waits, &facts);
		assert_int_equal(facts.n_watched, 1);
		vmop_waits_retain(waits);
		vmop_waits_take(waits, &sink);
		vmop_waits_facts(waits, &facts);
		assert_int_equal(facts.n_watched, 0);
		memset(sums, 0, sizeof(sums));
		usleep(50000);
		vmop_waits_take(waits, &sink);
		assert_int_equal(sums[0].all, 0);
	}
}

/*
 * A start waits for the kernel's verifier, which stops at a million instructions. The switch had
 * 430,357 in Linux 6.1, and 14,555 to 24,947 in 6.1 to 6.18 since then.
 */
static void test_verification(void **state)
{
	static const char *const names[] = {"vmop_switch", "vmop_wakeup", "vmop_migrate",
					    "vmop_settle"};
	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		struct bpf_prog_info info = {0};
		uint32_t len_bytes = sizeof(info);
		int fd = bpf_program__fd(vmop_bpf_loaded_program(&waits->loaded, names[i]));
		assert_int_equal(bpf_obj_get_info_by_fd(fd, &info, &len_bytes), 0);
		print_message("# %s: %u instructions verified\n", names[i], info.verified_insns);
		assert_true(info.verified_insns < 60000);
	}
}

static int begin(void **state)
{
	(void)state;
	memset(sums, 0, sizeof(sums));
	n_workers = 0;
	struct vmop_error *err = vmop_waits_create(&waits);
	if (!err)
		return 0;
	print_message("# %s\n", err->message);
	vmop_error_destroy(err);
	return -1;
}

static int end(void **state)
{
	(void)state;
	vmop_waits_destroy(waits);
	waits = NULL;
	for (size_t i = 0; i < n_workers; i++)
		workers[i].ends = true;
	for (size_t i = 0; i < n_workers; i++)
		pthread_join(workers[i].thread, NULL);
	return 0;
}

int main(void)
{
	/* A culprit has the name of its process, not of its thread. */
	prctl(PR_SET_NAME, "vmop-worker");
	struct vmop_error *err = vmop_waits_create(&waits);
	vmop_waits_destroy(waits);
	if (err) {
		printf("SKIP: no waits: %s\n", err->message);
		vmop_error_destroy(err);
		return 77;
	}
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_contention, begin, end),
		cmocka_unit_test_setup_teardown(test_guest, begin, end),
		cmocka_unit_test_setup_teardown(test_many_culprits, begin, end),
		cmocka_unit_test_setup_teardown(test_sleep, begin, end),
		cmocka_unit_test_setup_teardown(test_unwatch, begin, end),
		cmocka_unit_test_setup_teardown(test_many, begin, end),
		cmocka_unit_test_setup_teardown(test_verification, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
