// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The cost of dividing vCPUs' time, by the kernel's own statistics of BPF programs: a run at a
 * switch of the scheduler, while pairs of threads wake one another on one CPU, with none, half and
 * all of these threads watched. Usage: waits [SECONDS].
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "hv-interface/bpf/waits.h"

enum { PAIRS = 4, RATE_HZ = 10000 };

struct pair {
	int there[2], back[2];
	pthread_t threads[2];
	_Atomic pid_t tids[2];
	uint64_t pause_ns;
};

static atomic_bool is_over;

static void begin(void)
{
	cpu_set_t cpus;
	CPU_ZERO(&cpus);
	CPU_SET(0, &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
}

/* Wake the other thread, and wait for its answer: two switches a round. */
static void *ask(void *arg)
{
	struct pair *pair = arg;
	char byte = 0;
	begin();
	pair->tids[0] = (pid_t)syscall(SYS_gettid);
	const struct timespec pause = {.tv_nsec = (long)pair->pause_ns};
	while (!is_over) {
		if (write(pair->there[1], &byte, 1) != 1 || read(pair->back[0], &byte, 1) != 1)
			break;
		nanosleep(&pause, NULL);
	}
	close(pair->there[1]);
	return NULL;
}

static void *answer(void *arg)
{
	struct pair *pair = arg;
	char byte;
	begin();
	pair->tids[1] = (pid_t)syscall(SYS_gettid);
	while (read(pair->there[0], &byte, 1) == 1 && write(pair->back[1], &byte, 1) == 1)
		;
	return NULL;
}

struct sum {
	uint64_t runs, ns;
};

/* Add up the statistics of the programs with a prefix of their names. */
static struct sum statistics(const char *prefix)
{
	struct sum sum = {0};
	for (uint32_t id = 0; bpf_prog_get_next_id(id, &id) == 0;) {
		struct bpf_prog_info info = {0};
		uint32_t len = sizeof(info);
		int fd = bpf_prog_get_fd_by_id(id);
		if (fd < 0)
			continue;
		if (bpf_obj_get_info_by_fd(fd, &info, &len) == 0 &&
		    !strncmp(info.name, prefix, strlen(prefix))) {
			sum.runs += info.run_cnt;
			sum.ns += info.run_time_ns;
		}
		close(fd);
	}
	return sum;
}

/* Attach a program that does nothing, to see what the statistics themselves cost. */
static bool attach_nothing(void)
{
	const struct bpf_insn code[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	LIBBPF_OPTS(bpf_prog_load_opts, opts, .expected_attach_type = BPF_TRACE_RAW_TP);
	int id = libbpf_find_vmlinux_btf_id("sched_switch", BPF_TRACE_RAW_TP);
	opts.attach_btf_id = id > 0 ? (uint32_t)id : 0;
	int fd = bpf_prog_load(BPF_PROG_TYPE_TRACING, "nothing", "GPL", code, 2, &opts);
	return fd >= 0 && bpf_raw_tracepoint_open(NULL, fd) >= 0;
}

static void no_amount(void *arg, const struct vmop_waits_amount *amount)
{
	(void)arg;
	(void)amount;
}

static void no_address(void *arg, const struct vmop_waits_address *address)
{
	(void)arg;
	(void)address;
}

/* Measure with so many of the threads watched. */
static void measure(struct pair *pairs, unsigned n_watched, unsigned seconds)
{
	const struct vmop_waits_sink sink = {.amount = no_amount, .address = no_address};
	struct vmop_waits *waits = NULL;
	struct vmop_error *err = vmop_waits_create(&waits);
	if (err) {
		printf("waits: not measured: %s\n", err->message);
		exit(77);
	}
	for (unsigned i = 0; i < n_watched; i++)
		vmop_waits_watch(waits, (uint32_t)pairs[i / 2].tids[i % 2], 1, i);
	struct sum nothing = statistics("nothing");
	struct sum switches = statistics("vmop_switch"), wakeups = statistics("vmop_wakeup");
	struct timespec begun, ended;
	clock_gettime(CLOCK_MONOTONIC, &begun);
	for (unsigned i = 0; i < seconds; i++) {
		sleep(1);
		vmop_waits_take(waits, &sink);
	}
	clock_gettime(CLOCK_MONOTONIC, &ended);
	struct sum switches_after = statistics("vmop_switch"),
		   wakeups_after = statistics("vmop_wakeup");
	struct sum nothing_after = statistics("nothing");
	double s = (double)(ended.tv_sec - begun.tv_sec) +
		   (double)(ended.tv_nsec - begun.tv_nsec) / 1e9;
	double n_switches = (double)(switches_after.runs - switches.runs),
	       n_wakeups = (double)(wakeups_after.runs - wakeups.runs),
	       ns = (double)(switches_after.ns - switches.ns),
	       wakeup_ns = (double)(wakeups_after.ns - wakeups.ns);
	/* The statistics read a clock twice, and the program's time has one of these reads in it.
	 */
	double floor_ns = (double)(nothing_after.ns - nothing.ns) /
			  (double)(nothing_after.runs - nothing.runs);
	printf("waits: %u of %d threads watched: %.0f switches/s, %.0f ns a switch, %.0f ns a "
	       "wake-up, %.0f ns a program that does nothing; %.3f %% of a CPU at 10,000 "
	       "switches/s, %.3f %% without the statistics\n",
	       n_watched, 2 * PAIRS, n_switches / s, ns / n_switches, wakeup_ns / n_wakeups,
	       floor_ns, (ns + wakeup_ns) / n_switches * 10000 / 1e7,
	       (ns + wakeup_ns - floor_ns * (n_switches + n_wakeups)) / n_switches * 10000 / 1e7);
	vmop_waits_destroy(waits);
}

int main(int argc, char **argv)
{
	unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 3;
	static struct pair pairs[PAIRS];
	int fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (fd < 0 || !attach_nothing()) {
		puts("waits: not measured: the kernel gives no statistics of BPF programs");
		return 77;
	}
	for (unsigned i = 0; i < PAIRS; i++) {
		pairs[i].pause_ns = UINT64_C(1000000000) * PAIRS * 3 / RATE_HZ;
		if (pipe(pairs[i].there) < 0 || pipe(pairs[i].back) < 0 ||
		    pthread_create(&pairs[i].threads[0], NULL, ask, &pairs[i]) ||
		    pthread_create(&pairs[i].threads[1], NULL, answer, &pairs[i]))
			return 1;
		while (!pairs[i].tids[0] || !pairs[i].tids[1])
			usleep(1000);
	}
	for (unsigned n = 0; n <= 2 * PAIRS; n += PAIRS)
		measure(pairs, n, seconds);
	is_over = true;
	for (unsigned i = 0; i < PAIRS; i++) {
		pthread_join(pairs[i].threads[0], NULL);
		pthread_join(pairs[i].threads[1], NULL);
	}
	close(fd);
	return 0;
}
