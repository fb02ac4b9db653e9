// SPDX-License-Identifier: GPL-2.0-or-later
/* The perf source on the machine's own kernel, with the clock, which every machine has. */
#include <cmocka.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "hv-interface/source-list.h"
#include "hv-interface/source.h"

#define NS_PER_S UINT64_C(1000000000)
#define ENDS_AT_ONCE "--end-at-once" /* this program's argument */

/* The records of the child in a drain. */
struct seen {
	pid_t child;
	uint64_t samples, user_samples, kernel_samples, forks, exits, execs, mmaps;
	uint64_t last_ns, backwards, lost, lost_records, weight_ns, foreign_modes;
	char comm[32];
};

static void look(void *arg, const struct vmop_record *record,
		 const struct vmop_stack_capture *stack)
{
	(void)stack;
	struct seen *seen = arg;
	uint32_t child = (uint32_t)seen->child;
	if (record->time_ns < seen->last_ns)
		seen->backwards++;
	seen->last_ns = record->time_ns;
	switch (record->type) {
	case VMOP_RECORD_SAMPLE:
		if (record->sample.flags & VMOP_SAMPLE_USER)
			seen->foreign_modes++;
		if (record->sample.pid != child)
			break;
		seen->samples++;
		seen->weight_ns += record->sample.weight_events;
		seen->user_samples += (record->sample.flags & VMOP_SAMPLE_USER) != 0;
		seen->kernel_samples += (record->sample.flags & VMOP_SAMPLE_KERNEL) != 0;
		break;
	case VMOP_RECORD_FORK:
		seen->forks += record->task.pid == child && record->task.tid == child &&
			       record->task.parent_pid == (uint32_t)getpid();
		break;
	case VMOP_RECORD_EXIT:
		seen->exits += record->task.tid == child;
		break;
	case VMOP_RECORD_COMM:
		if (record->comm.pid != child)
			break;
		seen->execs += record->comm.is_exec != 0;
		snprintf(seen->comm, sizeof(seen->comm), "%s", record->comm.comm);
		break;
	case VMOP_RECORD_MMAP:
		if (record->mmap.pid != child || record->mmap.path[0] != '/')
			break;
		seen->mmaps++;
		if (!record->mmap.build_id_len_bytes)
			assert_int_not_equal(record->mmap.inode, 0);
		break;
	case VMOP_RECORD_LOST:
		seen->lost++;
		seen->lost_records += record->lost.lost_records;
		break;
	default:
		break;
	}
}

static struct vmop_source *open_source(const char *event, size_t buffer_bytes)
{
	struct vmop_event_request request;
	struct vmop_source *source;
	assert_null(vmop_event_request_parse(event, &request));
	struct vmop_source_setup setup = {
		.events = &request, .n_events = 1, .buffer_bytes = buffer_bytes};
	struct vmop_error *err = vmop_source_open(vmop_source_find("perf"), &setup, &source);
	if (err)
		fail_msg("%s", err->message);
	vmop_event_request_deinit(&request);
	return source;
}

static void drain(struct vmop_source *source, uint64_t up_to_ns, struct seen *seen)
{
	const struct vmop_sink sink = {look, seen};
	bool ended = true;
	assert_null(vmop_source_drain(source, up_to_ns, &sink, &ended));
	assert_false(ended);
}

/* Use cpu_ms of CPU time. */
static void burn(unsigned cpu_ms)
{
	struct timespec now;
	do {
		for (volatile unsigned i = 0; i < 100000; i++)
			;
		clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	} while ((uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000 < cpu_ms);
}

static void wait_for(pid_t child)
{
	int status;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static pid_t burning_child(unsigned cpu_ms)
{
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		burn(cpu_ms);
		_exit(0);
	}
	return child;
}

/* Execute a program that ends at once: this one, because /bin/true may have no loader. */
static pid_t executed_child(void)
{
	pid_t child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		execl("/proc/self/exe", "exe", ENDS_AT_ONCE, (char *)NULL);
		_exit(1);
	}
	return child;
}

static void a_spinning_child_is_sampled(void **state)
{
	(void)state;
	struct vmop_source *source = open_source("cpu-clock:1000Hz", 0);
	assert_int_equal(vmop_source_n_events(source), 1);
	assert_string_equal(vmop_source_event(source, 0)->name, "cpu-clock");
	assert_string_equal(vmop_source_event(source, 0)->unit, "ns");
	assert_int_equal(vmop_source_event(source, 0)->period_events, 1000000);
	const char *note = vmop_source_event(source, 0)->note;
	assert_true(!note || strstr(note, "to a guest or back")); /* on arm64 with KVM */
	assert_true(vmop_source_poll_fd(source) >= 0);
	assert_null(vmop_source_start(source));
	struct seen seen = {.child = burning_child(300)};
	wait_for(seen.child);
	assert_null(vmop_source_stop(source));
	drain(source, UINT64_MAX, &seen);
	/* 300 are due. A busy machine may deliver fewer, never many more. */
	assert_true(seen.samples >= 30 && seen.samples <= 450);
	assert_true(seen.user_samples > seen.samples / 2);
	assert_true(seen.weight_ns == seen.samples * 1000000);
	assert_int_equal(seen.forks, 1);
	assert_int_equal(seen.exits, 1);
	assert_int_equal(seen.backwards, 0);
	struct vmop_source_stats stats;
	vmop_source_stats(source, &stats);
	assert_true(stats.samples >= seen.samples && stats.records > stats.samples);
	assert_int_equal(stats.lost_records, 0);
	assert_int_equal(stats.malformed_records, 0);
	assert_int_equal(stats.unhandled_records, 0);
	assert_int_equal(stats.cpus_online, sysconf(_SC_NPROCESSORS_ONLN));
	vmop_source_close(source);
}

static void an_exec_brings_comm_and_mappings(void **state)
{
	(void)state;
	struct vmop_source *source = open_source("cpu-clock", 0);
	assert_null(vmop_source_start(source));
	struct seen seen = {.child = executed_child()};
	wait_for(seen.child);
	assert_null(vmop_source_stop(source));
	drain(source, UINT64_MAX, &seen);
	assert_int_equal(seen.forks, 1);
	assert_int_equal(seen.execs, 1);
	assert_string_equal(seen.comm, "exe");
	assert_true(seen.mmaps >= 2); /* at least the program and its loader */
	vmop_source_close(source);
}

/* For sources with other samples (Xen's). */
static void the_side_band_brings_no_samples(void **state)
{
	(void)state;
	struct vmop_source_setup setup = {.side_band_only = true};
	struct vmop_source *source;
	assert_null(vmop_source_open(vmop_source_find("perf"), &setup, &source));
	assert_int_equal(vmop_source_n_events(source), 0);
	assert_null(vmop_source_start(source));
	struct seen seen = {.child = executed_child()};
	wait_for(seen.child);
	for (int i = 0; i < 20; i++)
		assert_null(vmop_source_check_cpus(source));
	assert_null(vmop_source_stop(source));
	drain(source, UINT64_MAX, &seen);
	assert_int_equal(seen.forks, 1);
	assert_int_equal(seen.execs, 1);
	assert_int_equal(seen.exits, 1);
	assert_string_equal(seen.comm, "exe");
	assert_true(seen.mmaps >= 2);
	struct vmop_source_stats stats;
	vmop_source_stats(source, &stats);
	assert_int_equal(stats.samples, 0);
	assert_int_equal(stats.malformed_records, 0);
	vmop_source_close(source);
}

static void records_after_the_horizon_stay(void **state)
{
	(void)state;
	struct vmop_source *source = open_source("cpu-clock:1000Hz", 0);
	assert_null(vmop_source_start(source));
	struct timespec begin;
	clock_gettime(CLOCK_MONOTONIC, &begin);
	uint64_t begin_ns = (uint64_t)begin.tv_sec * NS_PER_S + (uint64_t)begin.tv_nsec;
	struct seen before = {.child = burning_child(100)};
	wait_for(before.child);
	drain(source, begin_ns, &before);
	assert_int_equal(before.samples, 0);
	assert_int_equal(before.forks, 0);
	assert_true(before.last_ns < begin_ns);
	assert_null(vmop_source_stop(source));
	struct seen after = {.child = before.child};
	drain(source, UINT64_MAX, &after);
	assert_true(after.samples > 0);
	assert_int_equal(after.forks, 1);
	struct seen again = {.child = before.child};
	drain(source, UINT64_MAX, &again);
	assert_int_equal(again.samples, 0);
	vmop_source_close(source);
}

static void modes_that_were_not_requested_are_left_out(void **state)
{
	(void)state;
	struct vmop_source *source = open_source("cpu-clock:1000Hz::1:0", 0);
	assert_null(vmop_source_start(source));
	struct seen seen = {.child = burning_child(100)};
	wait_for(seen.child);
	assert_null(vmop_source_stop(source));
	drain(source, UINT64_MAX, &seen);
	assert_int_equal(seen.foreign_modes, 0);
	assert_int_equal(seen.user_samples, 0);
	vmop_source_close(source);
}

static void losses_of_a_small_ring_are_counted(void **state)
{
	(void)state;
	struct vmop_source *source = open_source("cpu-clock:10000Hz", 4096);
	assert_null(vmop_source_start(source));
	struct seen seen = {.child = burning_child(100)};
	wait_for(seen.child);
	assert_null(vmop_source_stop(source));
	drain(source, UINT64_MAX, &seen);
	struct vmop_source_stats stats;
	vmop_source_stats(source, &stats);
	/* 4 KiB hold 85 samples of about 1000. */
	assert_true(stats.lost_records > 100);
	assert_true(seen.lost_records == stats.lost_records);
	/* A second drain neither forgets nor repeats the losses. */
	struct seen again = {0};
	drain(source, UINT64_MAX, &again);
	assert_int_equal(again.lost_records, 0);
	vmop_source_close(source);
}

static void a_ring_that_fills_wakes_its_owner(void **state)
{
	(void)state;
	struct vmop_source *source = open_source("cpu-clock:10000Hz", 1 << 14);
	struct pollfd poll_fd = {.fd = vmop_source_poll_fd(source), .events = POLLIN};
	assert_int_equal(poll(&poll_fd, 1, 0), 0);
	assert_null(vmop_source_start(source));
	struct seen seen = {.child = burning_child(300)};
	assert_int_equal(poll(&poll_fd, 1, 60000), 1);
	/* Other programs' samples may fill a busy machine's ring, again and again. */
	int status;
	pid_t ended;
	do {
		drain(source, UINT64_MAX, &seen);
		ended = waitpid(seen.child, &status, WNOHANG);
	} while (ended == 0 && poll(&poll_fd, 1, 100) >= 0);
	assert_true(ended == seen.child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
	assert_null(vmop_source_stop(source));
	drain(source, UINT64_MAX, &seen);
	assert_true(seen.samples > 0);
	for (long i = sysconf(_SC_NPROCESSORS_ONLN); i > 0; i--)
		poll(&poll_fd, 1, 0); /* a CPU's wake-up from before the stop counts once */
	assert_int_equal(poll(&poll_fd, 1, 0), 0);
	vmop_source_close(source);
}

/* Samples and weights of the child by event and mode. */
struct by_event {
	pid_t child;
	uint64_t samples[3], user[3], kernel[3], weight_events[3];
};

static void look_by_event(void *arg, const struct vmop_record *record,
			  const struct vmop_stack_capture *stack)
{
	(void)stack;
	struct by_event *seen = arg;
	if (record->type != VMOP_RECORD_SAMPLE || record->sample.pid != (uint32_t)seen->child)
		return;
	assert_in_range(record->sample.event, 0, 2);
	seen->samples[record->sample.event]++;
	seen->weight_events[record->sample.event] += record->sample.weight_events;
	seen->user[record->sample.event] += (record->sample.flags & VMOP_SAMPLE_USER) != 0;
	seen->kernel[record->sample.event] += (record->sample.flags & VMOP_SAMPLE_KERNEL) != 0;
}

enum { TOUCHED_PAGES = 3000, NAPS = 100 };

/* Burn CPU time, touch pages and sleep. */
static pid_t busy_child(void)
{
	pid_t child = fork();
	assert_true(child >= 0);
	if (child > 0)
		return child;
	const struct timespec nap = {.tv_nsec = 1000000};
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	char *memory = mmap(NULL, TOUCHED_PAGES * page_bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		_exit(1);
	madvise(memory, TOUCHED_PAGES * page_bytes, MADV_NOHUGEPAGE);
	burn(200);
	for (size_t i = 0; i < TOUCHED_PAGES; i++)
		memory[i * page_bytes] = 1;
	for (unsigned i = 0; i < NAPS; i++)
		nanosleep(&nap, NULL);
	_exit(0);
}

static void several_events_each_with_its_own_count_and_modes(void **state)
{
	(void)state;
	static const char *const texts[] = {"cpu-clock:500Hz::0:1", "page-faults:10::0:1",
					    "context-switches:1::1:0"};
	struct vmop_event_request requests[3];
	for (size_t i = 0; i < 3; i++)
		assert_null(vmop_event_request_parse(texts[i], &requests[i]));
	const struct vmop_source_setup setup = {.events = requests, .n_events = 3};
	struct vmop_source *source;
	struct vmop_error *err = vmop_source_open(vmop_source_find("perf"), &setup, &source);
	if (err)
		fail_msg("%s", err->message);
	for (size_t i = 0; i < 3; i++)
		vmop_event_request_deinit(&requests[i]);
	assert_int_equal(vmop_source_n_events(source), 3);
	assert_int_equal(vmop_source_event(source, 0)->period_events, 2000000);
	assert_int_equal(vmop_source_event(source, 1)->period_events, 10);
	assert_null(vmop_source_start(source));
	struct by_event seen = {.child = busy_child()};
	wait_for(seen.child);
	assert_null(vmop_source_stop(source));
	const struct vmop_sink sink = {look_by_event, &seen};
	assert_null(vmop_source_drain(source, UINT64_MAX, &sink, NULL));
	/* The clock: only the user's part; 100 are due. */
	assert_in_range(seen.samples[0], 10, 200);
	assert_int_equal(seen.user[0], seen.samples[0]);
	assert_true(seen.weight_events[0] == seen.samples[0] * 2000000);
	/*
	 * The program has a page fault for each page that it touched, and a sample for ten of them.
	 * Whenever another program had the CPU meanwhile, the tenth fault may be that program's.
	 */
	assert_in_range(seen.samples[1], TOUCHED_PAGES / 10 - 30, TOUCHED_PAGES / 10 + 50);
	assert_int_equal(seen.user[1], seen.samples[1]);
	assert_true(seen.weight_events[1] == seen.samples[1] * 10);
	/* A switch belongs to the kernel. */
	assert_in_range(seen.samples[2], NAPS, 100 * NAPS);
	assert_int_equal(seen.kernel[2], seen.samples[2]);
	assert_true(seen.weight_events[2] == seen.samples[2]);
	vmop_source_close(source);
}

static int may_sample(void **state)
{
	(void)state;
	struct vmop_source *source;
	struct vmop_source_setup setup = {0};
	struct vmop_error *err = vmop_source_open(vmop_source_find("perf"), &setup, &source);
	if (err) {
		printf("skipped: %s\n", err->message);
		exit(77);
	}
	vmop_source_close(source);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], ENDS_AT_ONCE))
		return 0;
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_spinning_child_is_sampled),
		cmocka_unit_test(an_exec_brings_comm_and_mappings),
		cmocka_unit_test(the_side_band_brings_no_samples),
		cmocka_unit_test(records_after_the_horizon_stay),
		cmocka_unit_test(modes_that_were_not_requested_are_left_out),
		cmocka_unit_test(losses_of_a_small_ring_are_counted),
		cmocka_unit_test(a_ring_that_fills_wakes_its_owner),
		cmocka_unit_test(several_events_each_with_its_own_count_and_modes),
	};
	return cmocka_run_group_tests(tests, may_sample, NULL);
}
