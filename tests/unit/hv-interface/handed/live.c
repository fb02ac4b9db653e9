// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The handed source over real records of this kernel. This machine is host and guest at once: perf
 * samples it, with the task of each sample, and the samples are handed over without their tasks.
 * The source must find the tasks that perf knew.
 *
 * usage: live [HZ]	the samples a second of each CPU (2000)
 */
#include "hv-interface/handed/handed.h"

#include <cmocka.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hv-interface/handed/feed.h"
#include "hv-interface/perf/perf.h"
#include "libutil/clock.h"
#include "tests/unit/ok.h"

#define LEN_NS (2 * VMOP_NS_PER_S)
#define SAMPLES_MAX 65536
#define BATCH 500

/* A sample with the task that perf or the handed source has for it. */
struct known {
	struct vmop_active_sample sample;
	uint32_t pid;
};

struct list {
	struct known at[SAMPLES_MAX];
	size_t n;
};

static char event[32] = "cpu-clock:2000Hz";
static struct list truth, found;
static uint64_t guest_cpu_ns; /* of the handed source and its feed */

static void take(void *arg, const struct vmop_record *record,
		 const struct vmop_stack_capture *stack)
{
	struct list *list = arg;
	const struct vmop_sample *sample = &record->sample;
	(void)stack;
	if (record->type != VMOP_RECORD_SAMPLE || list->n == SAMPLES_MAX ||
	    sample->flags & VMOP_SAMPLE_GUEST)
		return;
	list->at[list->n++] = (struct known){
		.sample = {.time_ns = record->time_ns,
			   .address = sample->ip,
			   .weight_events = sample->weight_events,
			   .vcpu = sample->cpu,
			   .is_kernel = !(sample->flags & VMOP_SAMPLE_USER)},
		.pid = sample->pid,
	};
}

/* ---- a load: programs that live some milliseconds, and two that take turns ----------------- */

static void burn(uint64_t len_ns)
{
	uint64_t begun_ns = vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	while (vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID) - begun_ns < len_ns)
		continue;
}

static pid_t start(void (*run)(void))
{
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid)
		return pid;
	for (;;)
		run();
}

static void run_short_ones(void)
{
	pid_t pid = fork();
	if (!pid) {
		burn(3 * VMOP_NS_PER_MS);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void take_turns(void)
{
	burn(VMOP_NS_PER_MS / 5);
	sched_yield();
}

/* ---- the channel ---------------------------------------------------------------------------- */

static void set_clock(struct vmop_handed_feed *feed)
{
	uint8_t question[VMOP_ACTIVE_ASK_BYTES], bytes[VMOP_ACTIVE_CLOCK_BYTES];
	struct vmop_active_ask ask;
	struct vmop_tsc_pair now;
	vmop_handed_feed_ask(feed, question);
	assert_true(vmop_active_ask_decode(question, &ask));
	bool has_tsc = vmop_tsc_read(&now);
	const struct vmop_active_clock clock = {.asked_ns = ask.asked_ns,
						.host_ns = now.time_ns,
						.guest_tsc = has_tsc ? now.tsc : 0,
						.error_ns = now.width_ticks / 2};
	vmop_active_clock_encode(&clock, bytes);
	assert_true(vmop_handed_feed_clock(feed, bytes));
}

/* Hand over the samples from index *at on. */
static void hand_over(struct vmop_handed_feed *feed, size_t *at, uint64_t complete_ns)
{
	do {
		struct vmop_active_sample samples[BATCH];
		uint8_t bytes[VMOP_ACTIVE_BATCH_BYTES];
		size_t n = 0, len;
		for (; n < BATCH && *at + n < truth.n; n++)
			samples[n] = truth.at[*at + n].sample;
		const struct vmop_active_batch batch = {.complete_ns = complete_ns, .n = n};
		*at += vmop_active_batch_encode(&batch, samples, NULL, bytes, &len);
		uint64_t cpu_ns = vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		assert_true(vmop_handed_feed_batch(feed, bytes, len));
		guest_cpu_ns += vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	} while (*at < truth.n);
}

static void drain(struct vmop_source *source, uint64_t up_to_ns, struct list *list)
{
	const struct vmop_sink sink = {.record = take, .arg = list};
	assert_ok(vmop_source_drain(source, up_to_ns, &sink, NULL));
}

/* Let both sources run for a while. */
static void sample(struct vmop_source *host, struct vmop_source *guest,
		   struct vmop_handed_feed *feed)
{
	uint64_t begun_ns = vmop_clock_ns(CLOCK_MONOTONIC), now_ns = begun_ns;
	size_t n_handed = 0;
	/* The time that the kernel takes to give pages is not the source's. */
	memset(found.at, 1, sizeof(found.at));
	assert_ok(vmop_source_start(guest));
	assert_ok(vmop_source_start(host));
	while (now_ns - begun_ns < LEN_NS) {
		usleep(50000);
		now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
		set_clock(feed);
		drain(host, now_ns - 2 * VMOP_NS_PER_MS, &truth);
		hand_over(feed, &n_handed, now_ns - 2 * VMOP_NS_PER_MS);
		uint64_t cpu_ns = vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		drain(guest, now_ns - 2 * VMOP_NS_PER_MS, &found);
		guest_cpu_ns += vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_ns;
	}
	assert_ok(vmop_source_stop(host));
	assert_ok(vmop_source_stop(guest));
	set_clock(feed);
	drain(host, UINT64_MAX, &truth);
	hand_over(feed, &n_handed, vmop_clock_ns(CLOCK_MONOTONIC));
	drain(guest, UINT64_MAX, &found);
}

/* ---- the comparison ------------------------------------------------------------------------- */

struct counts {
	unsigned checked, wrong, uncertain, switching;
};

static void compare(const struct known *right, const struct known *is, struct counts *counts)
{
	assert_int_equal(right->sample.address, is->sample.address);
	assert_int_equal(right->sample.vcpu, is->sample.vcpu);
	assert_int_equal(right->sample.is_kernel, is->sample.is_kernel);
	if (right->pid == UINT32_MAX) /* it was about to end: perf has no pid any more */
		return;
	counts->checked++;
	if (is->pid == VMOP_PID_SWITCHING && is->sample.is_kernel)
		counts->switching++;
	else if (is->pid && !vmop_pid_is_process(is->pid))
		counts->uncertain++;
	else
		counts->wrong += is->pid != right->pid;
}

static void the_tasks_are_those_that_perf_knew(void **state)
{
	struct vmop_event_request request;
	const struct vmop_source_setup host_setup = {.events = &request, .n_events = 1};
	struct vmop_source_setup guest_setup = {0};
	struct vmop_source *host, *guest;
	struct vmop_source_stats stats;
	struct counts counts = {0};
	pid_t load[3];
	(void)state;
	assert_ok(vmop_event_request_parse(event, &request));
	assert_ok(vmop_handed_feed_create("host 500000:0:ns:cpu-clock", &guest_setup.feed));
	struct vmop_error *err = vmop_source_open(&vmop_source_perf_ops, &host_setup, &host);
	if (err) { /* no permission */
		print_message("%s\n", err->message);
		vmop_error_destroy(err);
		skip();
	}
	assert_ok(vmop_source_open(&vmop_source_handed_ops, &guest_setup, &guest));
	load[0] = start(run_short_ones);
	load[1] = start(take_turns);
	load[2] = start(take_turns);
	sample(host, guest, guest_setup.feed);
	for (size_t i = 0; i < 3; i++) {
		kill(load[i], SIGKILL);
		waitpid(load[i], NULL, 0);
	}
	assert_int_equal(found.n, truth.n);
	for (size_t i = 0; i < truth.n; i++)
		compare(&truth.at[i], &found.at[i], &counts);
	print_message("%u samples: %u wrong, %u uncertain, %u in a switch; clock %u ns\n",
		      counts.checked, counts.wrong, counts.uncertain, counts.switching,
		      (unsigned)vmop_handed_clock_error_ns(&guest_setup.feed->clock));
	vmop_source_stats(guest, &stats);
	print_message(
		"%u us of CPU for %u records of tasks and the samples, without the kernel's\n",
		(unsigned)(guest_cpu_ns / 1000), (unsigned)(stats.records - truth.n));
	assert_true(counts.checked > 200);
	assert_int_equal(counts.wrong, 0);
	/* Also those before the first switch of a CPU, at the start, and lost records. */
	assert_true(counts.uncertain * 50 < counts.checked);
	vmop_source_close(guest);
	vmop_source_close(host);
	vmop_handed_feed_destroy(guest_setup.feed);
	vmop_event_request_deinit(&request);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_tasks_are_those_that_perf_knew),
	};
	if (argc == 2)
		snprintf(event, sizeof(event), "cpu-clock:%.8sHz", argv[1]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
