// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counters of a real PMU by libvmop, on a machine that counts instructions as time. Prints one
 * "NAME VALUE..." a line; scenarios/counters.check has the bounds. Each part ends by itself.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <linux/perf_event.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vmop.h>

#define SWITCH_PATH "/proc/sys/kernel/perf_user_access"
#define USER ":::0:1"

static void fail_if(struct vmop_error *err, const char *what)
{
	if (!err)
		return;
	printf("failed %s: %s\n", what, vmop_error_text(err));
	exit(1);
}

static void permit(bool on)
{
	int fd = open(SWITCH_PATH, O_WRONLY);
	if (fd < 0 || write(fd, on ? "1" : "0", 1) != 1)
		printf("failed " SWITCH_PATH "\n");
	close(fd);
}

static struct vmop_counters *open_set(const char *events, uint32_t flags)
{
	const struct vmop_counters_options options = {.size = sizeof(options), .flags = flags};
	struct vmop_counters *set;
	fail_if(vmop_counters_open(events, &options, &set), events);
	fail_if(vmop_counters_start(set), events);
	return set;
}

/* Execute 3 * n instructions, and some. */
static __attribute__((noinline)) void work(uint64_t n)
{
	__asm__ volatile("1: nop\n\tsubs %0, %0, #1\n\tb.ne 1b" : "+r"(n) : : "cc");
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

/* The instructions between two reads: those of one read, its call included. */
static void cost(const char *name, const char *events, uint32_t flags, int want)
{
	enum { N = 1000 };
	static uint64_t costs[N];
	struct vmop_counters *set = open_set(events, flags);
	unsigned n_wanted = 0;
	for (unsigned i = 0; i < N; i++) {
		uint64_t a = 0, b = 0;
		int first = vmop_counters_value(set, 0, &a);
		int second = vmop_counters_value(set, 0, &b);
		n_wanted += (first == want) + (second == want);
		costs[i] = b - a;
	}
	qsort(costs, N, sizeof(*costs), by_size);
	printf("%s %lu %lu %u\n", name, costs[N / 2], costs[N * 99 / 100], n_wanted);
	vmop_counters_close(set);
}

/* Instructions between the two calls, by which one caller may differ from another. */
#define OF_CALLER 4

static void regions(const char *name, const char *events, uint32_t flags)
{
	enum { N = 500 };
	struct vmop_counters *set = open_set(events, flags);
	struct vmop_region_count count = {0};
	unsigned n_zero = 0, n_within = 0;
	uint64_t most = 0;
	/* The dynamic linker looks vmop_region_end up in the first region: 620 instructions. */
	fail_if(vmop_region_begin(set), name);
	fail_if(vmop_region_end(set, &count, 1), name);
	for (unsigned i = 0; i < N; i++) {
		struct vmop_error *err = vmop_region_begin(set);
		if (!err)
			err = vmop_region_end(set, &count, 1);
		fail_if(err, name);
		n_zero += count.value <= OF_CALLER;
		n_within += count.value <= count.spread;
		most = count.value > most ? count.value : most;
	}
	fail_if(vmop_region_begin(set), name);
	work(10000);
	fail_if(vmop_region_end(set, &count, 1), name);
	printf("%s %u %u %u %lu %lu %lu\n", name, n_zero, n_within, count.way, count.cost,
	       count.value, most);
	vmop_counters_close(set);
}

/* More events than counters, on threads that take turns. */
#define MANY                                                                                       \
	"cycles,instructions,cycles" USER ",instructions" USER ",cycles,instructions,cycles" USER  \
	",instructions" USER ",cycles,instructions"
enum { N_MANY = 10 };

struct turns {
	uint64_t reads, by_page, raw_back, estimate_back, clamped, estimates, page_ahead, not_run;
	uint64_t percent;
};

static void follow(struct turns *turns, struct vmop_counters *set, struct vmop_count *last,
		   uint64_t *last_value)
{
	struct vmop_count counts[N_MANY];
	fail_if(vmop_counters_read(set, counts, N_MANY), "reading many");
	for (size_t i = 0; i < N_MANY; i++) {
		uint64_t value = 0;
		turns->reads++;
		turns->by_page += counts[i].way == VMOP_BY_PAGE;
		turns->raw_back += counts[i].value < last[i].value;
		turns->estimate_back += counts[i].estimate < last[i].estimate;
		turns->clamped += (counts[i].flags & VMOP_COUNT_CLAMPED) != 0;
		turns->estimates += (counts[i].flags & VMOP_COUNT_ESTIMATE) != 0;
		turns->not_run += (counts[i].flags & VMOP_COUNT_NOT_RUN) != 0;
		last[i] = counts[i];
		if (vmop_counters_value(set, i, &value) == VMOP_BY_NOTHING ||
		    value < counts[i].value || value < last_value[i])
			turns->raw_back++;
		last_value[i] = value;
	}
}

static void *take_turns(void *arg)
{
	struct turns *turns = arg;
	struct vmop_counters *set = open_set(MANY, 0);
	struct vmop_count last[N_MANY] = {{0}};
	uint64_t last_value[N_MANY] = {0};
	for (unsigned i = 0; i < 6000; i++) {
		work(2000);
		follow(turns, set, last, last_value);
	}
	/* Estimates of the same event, on different counters at different times. */
	turns->percent = 100 * last[0].estimate / last[4].estimate;
	vmop_counters_close(set);
	return NULL;
}

static void multiplexing(void)
{
	struct turns turns[2] = {{0}};
	pthread_t threads[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, take_turns, &turns[i]);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		printf("multiplexed%d %lu %lu %lu %lu %lu %lu %lu\n", i, turns[i].reads,
		       turns[i].by_page, turns[i].raw_back, turns[i].estimate_back,
		       turns[i].clamped, turns[i].estimates, turns[i].percent);
	}
}

static atomic_bool is_over;

static void *toggle(void *arg)
{
	for (unsigned i = 0; i < 200; i++) {
		permit(i & 1);
		usleep(500 + i * 7919 % 997);
	}
	permit(true);
	is_over = true;
	return arg;
}

/* The right to read is withdrawn in mid-run: values stay true, whichever way they are read. */
static void withdrawn_rights(void)
{
	enum { STEP = 1000 };
	uint64_t n_sets = 0, by_page = 0, by_read = 0, wrong = 0;
	pthread_t thread;
	is_over = false;
	pthread_create(&thread, NULL, toggle, NULL);
	while (!is_over) {
		struct vmop_counters *set = open_set("cycles" USER, 0);
		uint64_t last = 0, value = 0;
		vmop_counters_value(set, 0, &last);
		for (unsigned i = 0; i < 200; i++, last = value) {
			work(STEP);
			int way = vmop_counters_value(set, 0, &value);
			by_page += way == VMOP_BY_PAGE;
			by_read += way == VMOP_BY_READ;
			/* A stale page would stand still. */
			wrong += way == VMOP_BY_NOTHING || value < last + STEP;
		}
		vmop_counters_close(set);
		n_sets++;
	}
	pthread_join(thread, NULL);
	printf("withdrawn %lu %lu %lu %lu\n", n_sets, by_page, by_read, wrong);
}

struct watcher {
	uint64_t n, period, events, calls, foreign;
	pid_t tid;
};

static void on_overflow(void *arg, const struct vmop_overflow *overflow)
{
	struct watcher *watcher = arg;
	watcher->foreign += syscall(SYS_gettid) != watcher->tid || !overflow->address;
}

static void *watch(void *arg)
{
	struct watcher *watcher = arg;
	struct vmop_watch *handle;
	watcher->tid = (pid_t)syscall(SYS_gettid);
	fail_if(vmop_watch_open("cycles" USER, watcher->period, on_overflow, watcher, NULL,
				&handle),
		"watch");
	for (uint64_t i = 0; i < watcher->n; i++)
		work(100000);
	fail_if(vmop_watch_read(handle, &watcher->events, &watcher->calls), "watch");
	vmop_watch_close(handle);
	return NULL;
}

/* Return whether all threads had nine in ten of the calls that were due. */
static bool try_overflows(struct watcher watchers[3])
{
	pthread_t threads[3];
	bool is_enough = true;
	for (int i = 0; i < 3; i++)
		pthread_create(&threads[i], NULL, watch, &watchers[i]);
	for (int i = 0; i < 3; i++) {
		pthread_join(threads[i], NULL);
		is_enough &= watchers[i].calls >= watchers[i].events / watchers[i].period * 9 / 10;
	}
	return is_enough;
}

/*
 * QEMU 7.2 sometimes stops raising the PMU's interrupt until the counter is set up again
 * (session.sh): try again then.
 */
static void overflows(void)
{
	uint64_t foreign = 0;
	for (unsigned tries = 1; tries <= 10; tries++) {
		struct watcher watchers[3] = {{.n = 300, .period = 1000003},
					      {.n = 600, .period = 1000003},
					      {.n = 1200, .period = 1000003}};
		bool is_enough = try_overflows(watchers);
		for (int i = 0; i < 3; i++)
			foreign += watchers[i].foreign;
		if (!is_enough && tries < 10)
			continue;
		for (int i = 0; i < 3; i++)
			printf("overflows%d %lu %lu\n", i, watchers[i].events / watchers[i].period,
			       watchers[i].calls);
		printf("overflows %lu %u\n", foreign, tries);
		return;
	}
}

/* The child of a fork has no pages; it reads the parent by read(2). */
static void forked(void)
{
	struct vmop_counters *set = open_set("instructions" USER, 0);
	uint64_t before = 0, value = 0;
	int way = vmop_counters_value(set, 0, &before), status = 0;
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		int child_way = vmop_counters_value(set, 0, &value);
		vmop_counters_close(set);
		_exit(child_way == VMOP_BY_READ && value >= before ? 0 : 1);
	}
	waitpid(pid, &status, 0);
	printf("forked %d %d %d\n", way, status, vmop_counters_value(set, 0, &value));
	vmop_counters_close(set);
}

/* Take all counters of the CPU, as an NMI watchdog takes one: pinned events count before others. */
static int hold(void)
{
	for (unsigned i = 0; i < 32; i++) {
		struct perf_event_attr attr = {
			.type = PERF_TYPE_HARDWARE,
			.size = sizeof(attr),
			.config = i ? PERF_COUNT_HW_INSTRUCTIONS : PERF_COUNT_HW_CPU_CYCLES,
			.pinned = 1,
		};
		if (syscall(SYS_perf_event_open, &attr, -1, 0, -1, 0) < 0)
			return 1;
	}
	puts("held");
	pause();
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && strcmp(argv[1], "hold") == 0) {
		setvbuf(stdout, NULL, _IOLBF, 0);
		return hold();
	}
	setvbuf(stdout, NULL, _IOLBF, 0);
	permit(false);
	cost("forbidden", "instructions" USER, 0, VMOP_BY_READ);
	permit(true);
	cost("by_page", "instructions" USER, 0, VMOP_BY_PAGE);
	cost("by_page_kernel_too", "instructions", 0, VMOP_BY_PAGE);
	cost("by_read", "instructions", VMOP_COUNTERS_NO_PAGE, VMOP_BY_READ);
	regions("region_page", "instructions" USER, 0);
	regions("region_user_read", "instructions" USER, VMOP_COUNTERS_NO_PAGE);
	regions("region_read", "instructions", VMOP_COUNTERS_NO_PAGE);
	forked();
	multiplexing();
	withdrawn_rights();
	overflows();
	printf("done 1\n");
	return 0;
}
