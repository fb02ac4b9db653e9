// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * usage: sample-guest [-t SECONDS] [-f HZ] [-s PERMILLE] -p PID|FILE
 * Sample the blocked threads of a guest that runs in process PID, or of a saved image, as a session
 * does, with PERMILLE of a CPU. Print a line for each thread's stack:
 *	COMM PID SAMPLES PERCENT END FUNCTION < FUNCTION < ... | FUNCTION < ...
 * PERCENT is the time with that stack, of the whole time. The functions are those in the kernel,
 * innermost first, and those in user code. The last lines have the totals and the cost.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "daemon/guest/off-cpu/sampler.h"
#include "daemon/guest/stacks/orc-tables.h"
#include "daemon/guest/stacks/user-stacks.h"
#include "libutil/clock.h"
#include "libutil/stack-end.h"

struct run {
	struct vmop_guest *guest;
	struct vmop_guest_orc_tables *tables;
	struct vmop_guest_snapshot *snapshot;
	struct vmop_blocked_sampler *sampler;
	struct vmop_blocked_batch *batch;
	struct vmop_user_stacks *symbols;
	uint64_t begun_ns, seconds;
	struct vmop_off_cpu options;
	unsigned share_permille;
};

static void die(struct vmop_error *err)
{
	if (!err)
		return;
	fprintf(stderr, "sample-guest: %s\n", err->message);
	exit(1);
}

static void list(struct run *run)
{
	struct vmop_guest_snapshot *snapshot;
	die(vmop_guest_snapshot_processes(run->guest, 0, &snapshot));
	vmop_guest_snapshot_free(run->snapshot);
	run->snapshot = snapshot;
}

static void sleep_until(uint64_t ns)
{
	const struct timespec time = {.tv_sec = (time_t)(ns / VMOP_NS_PER_S),
				      .tv_nsec = (long)(ns % VMOP_NS_PER_S)};
	clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
}

static void sample(struct run *run)
{
	uint64_t now_ns = run->begun_ns, listed_ns = now_ns;
	uint64_t end_ns = now_ns + run->seconds * VMOP_NS_PER_S;
	while (now_ns < end_ns) {
		die(vmop_blocked_sampler_round(run->sampler, run->tables, run->snapshot,
					       run->share_permille, now_ns));
		vmop_blocked_sampler_publish(run->sampler, &run->batch);
		if (vmop_blocked_sampler_wants_list(run->sampler) ||
		    now_ns - listed_ns > VMOP_NS_PER_S) {
			list(run);
			listed_ns = now_ns;
		}
		sleep_until(vmop_blocked_sampler_due_ns(run->sampler));
		now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	}
}

static void put_kernel_frame(const struct run *run, uint64_t address)
{
	struct vmop_guest_symbol symbol;
	if (vmop_guest_symbol_at(run->guest, address, &symbol))
		fputs(symbol.name, stdout);
	else
		printf("0x%" PRIx64, address);
}

static void put_user_frame(const struct run *run, uint32_t pid, uint64_t address)
{
	struct vmop_user_place place;
	vmop_user_stacks_place(run->symbols, pid, address, &place);
	if (place.symbol)
		fputs(place.symbol, stdout);
	else
		printf("%s+0x%" PRIx64, place.path ? place.path : "?", place.offset);
}

static void put_thread(const struct run *run, const struct vmop_blocked_thread *thread,
		       struct vmop_blocked_time time)
{
	const struct vmop_guest_process *process =
		vmop_guest_snapshot_by_pid(run->snapshot, thread->pid);
	double percent = 100 * (double)time.ns / (double)(run->seconds * VMOP_NS_PER_S);
	printf("%s %" PRIu32 " %" PRIu64 " %.1f %s ", process ? process->comm : "?", thread->pid,
	       time.n_samples, percent, vmop_stack_end_word(thread->end));
	for (uint32_t i = 0; i < thread->n_frames; i++) {
		fputs(i == thread->n_kernel ? " | " : i ? " < " : "", stdout);
		if (i < thread->n_kernel)
			put_kernel_frame(run, thread->frames[i]);
		else
			put_user_frame(run, thread->pid, thread->frames[i]);
	}
	putchar('\n');
}

static void put_results(const struct run *run)
{
	struct vmop_blocked_facts facts;
	for (size_t i = 0; run->batch && i < vmop_blocked_batch_n(run->batch); i++) {
		struct vmop_blocked_thread thread;
		struct vmop_blocked_time time;
		vmop_blocked_batch_get(run->batch, i, &thread, &time);
		put_thread(run, &thread, time);
	}
	vmop_blocked_sampler_facts(run->sampler, &facts);
	printf("total: %" PRIu64 " rounds, %" PRIu64 " reused, %" PRIu64 " missed, %" PRIu64
	       " torn, %" PRIu64 " refused\n",
	       facts.n_rounds, facts.n_reused, facts.n_missed, facts.n_torn, facts.n_refused);
	printf("last: %u threads, %u blocked, %u running, %u new\n", facts.n_threads,
	       facts.n_counted, facts.n_running, facts.n_new);
	printf("cost: %.3f ms of CPU time a round, %.2f %% of one CPU\n",
	       (double)facts.cpu_ns / 1e6 / (double)(facts.n_rounds ? facts.n_rounds : 1),
	       (double)facts.cpu_ns / 1e7 / (double)run->seconds);
}

int main(int argc, char **argv)
{
	struct run run = {.seconds = 10,
			  .share_permille = 1000,
			  .options = {.hz = 10, .states = VMOP_OFF_CPU_DEFAULT_STATES}};
	int option, pid = 0;
	while ((option = getopt(argc, argv, "t:f:s:p:")) != -1) {
		if (option == 't')
			run.seconds = (uint64_t)atoi(optarg);
		else if (option == 'f')
			run.options.hz = (unsigned)atoi(optarg);
		else if (option == 's')
			run.share_permille = (unsigned)atoi(optarg);
		else if (option == 'p')
			pid = atoi(optarg);
		else
			return 2;
	}
	if (!pid && optind + 1 != argc)
		return 2;
	die(pid ? vmop_guest_open_pid(pid, NULL, &run.guest)
		: vmop_guest_open_file(argv[optind], NULL, &run.guest));
	die(vmop_guest_find_kernel(run.guest));
	die(vmop_guest_orc_tables_read(run.guest, &run.tables));
	die(vmop_blocked_sampler_create(run.guest, &run.options, &run.sampler));
	list(&run);
	run.begun_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	sample(&run);
	die(vmop_user_stacks_create(run.guest, true, &run.symbols));
	vmop_user_stacks_begin(run.symbols, run.snapshot, 0);
	put_results(&run);
	vmop_user_stacks_destroy(run.symbols);
	vmop_blocked_sampler_destroy(run.sampler);
	vmop_blocked_batch_destroy(run.batch);
	vmop_guest_orc_tables_unref(run.tables);
	vmop_guest_snapshot_free(run.snapshot);
	vmop_guest_close(run.guest);
	return 0;
}
