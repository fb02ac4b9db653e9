// SPDX-License-Identifier: GPL-2.0-or-later
/* Rates that change while the source samples: the weights still add up to the time of all CPUs. */
#include <cmocka.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "hv-interface/perf/note.h"
#include "hv-interface/perf/rate.h"
#include "hv-interface/source-list.h"
#include "libutil/clock.h"

/* The samples of a child that keeps a CPU busy, by weight. */
struct seen {
	uint32_t child;
	uint64_t n, weight, least, most;
};

static void look(void *arg, const struct vmop_record *record,
		 const struct vmop_stack_capture *stack)
{
	(void)stack;
	struct seen *seen = arg;
	if (record->type != VMOP_RECORD_SAMPLE || record->sample.pid != seen->child)
		return;
	uint64_t weight = record->sample.weight_events;
	seen->n++;
	seen->weight += weight;
	if (!seen->least || weight < seen->least)
		seen->least = weight;
	if (weight > seen->most)
		seen->most = weight;
}

static void drain(struct vmop_source *source, struct seen *seen)
{
	const struct vmop_sink sink = {look, seen};
	bool ended;
	assert_null(vmop_source_drain(source, vmop_clock_ns(CLOCK_MONOTONIC), &sink, &ended));
}

static uint64_t cpu_ns(pid_t pid)
{
	clockid_t clock;
	assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
	return vmop_clock_ns(clock);
}

/* Wait until the child has used some CPU time, and drain meanwhile. */
static void let_run(struct vmop_source *source, struct seen *seen, uint64_t ns)
{
	uint64_t end_ns = cpu_ns((pid_t)seen->child) + ns;
	while (cpu_ns((pid_t)seen->child) < end_ns) {
		usleep(10000);
		drain(source, seen);
	}
}

static pid_t busy_child(void)
{
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			;
	}
	assert_true(child > 0);
	return child;
}

static struct vmop_source *open_source(const char *event)
{
	struct vmop_event_request request;
	struct vmop_source *source = NULL;
	assert_null(vmop_event_request_parse(event, &request));
	const struct vmop_source_setup setup = {.events = &request, .n_events = 1};
	struct vmop_error *err = vmop_source_open(vmop_source_find("perf"), &setup, &source);
	vmop_event_request_deinit(&request);
	if (err)
		print_message("%s\n", err->message);
	vmop_error_destroy(err);
	return source;
}

static void weights_add_up_across_changes(void **state)
{
	(void)state;
	struct seen seen = {.child = (uint32_t)busy_child()};
	struct vmop_source *source = open_source("cpu-clock:4000Hz");
	assert_non_null(source);
	assert_true(vmop_source_has_rate(source));
	uint64_t begun_ns = cpu_ns((pid_t)seen.child);
	assert_null(vmop_source_start(source));
	let_run(source, &seen, 100 * VMOP_NS_PER_MS);
	assert_int_equal(seen.least, 250000);
	assert_int_equal(seen.most, 250000);
	uint64_t before = seen.n;
	const char *note = "lowered";
	assert_null(vmop_source_set_rate(source, 8, &note));
	assert_non_null(strstr(vmop_source_event(source, 0)->note, "lowered"));
	let_run(source, &seen, 400 * VMOP_NS_PER_MS);
	assert_int_equal(seen.most, 2000000);
	assert_true(seen.n - before < 300); /* 200 of 1600 */
	/* Back to the full rate: no sample weighs less. */
	const char *none = NULL;
	assert_null(vmop_source_set_rate(source, 1, &none));
	assert_null(vmop_source_event(source, 0)->note);
	before = seen.n;
	let_run(source, &seen, 100 * VMOP_NS_PER_MS);
	assert_true(seen.n - before > 200); /* 400 */
	assert_int_equal(seen.least, 250000);
	assert_null(vmop_source_stop(source));
	uint64_t used_ns = cpu_ns((pid_t)seen.child) - begun_ns;
	drain(source, &seen);
	kill((pid_t)seen.child, SIGKILL);
	waitpid((pid_t)seen.child, NULL, 0);
	vmop_source_close(source);
	double share = (double)seen.weight / (double)used_ns;
	print_message("%.3f of the time sampled\n", share);
	assert_true(share > 0.9 && share < 1.1);
}

static void an_event_that_the_kernel_counts(void **state)
{
	(void)state;
	struct vmop_source *source = open_source("page-faults:1");
	assert_non_null(source);
	struct seen seen = {.child = (uint32_t)getpid()};
	assert_null(vmop_source_start(source));
	const char *none = NULL;
	assert_null(vmop_source_set_rate(source, 16, &none));
	for (unsigned i = 0; i < 64; i++) { /* fault in 64 MiB in pages of 4 KiB or 2 MiB */
		char *memory = malloc(1 << 20);
		for (size_t at = 0; at < 1 << 20; at += 4096)
			((volatile char *)memory)[at] = 1;
		free(memory);
	}
	assert_null(vmop_source_stop(source));
	drain(source, &seen);
	vmop_source_close(source);
	assert_true(seen.n > 0);
	assert_int_equal(seen.most, 16);
}

static void attributes_stay_in_range(void **state)
{
	(void)state;
	struct perf_event_attr attr = {.freq = 1, .sample_freq = 100};
	vmop_perf_rate_set_attr(0, &attr);
	assert_int_equal(attr.sample_freq, 100);
	vmop_perf_rate_set_attr(4, &attr);
	assert_int_equal(attr.sample_freq, 25);
	vmop_perf_rate_set_attr(64, &attr);
	assert_int_equal(attr.sample_freq, 1); /* 0 is no frequency */
	attr = (struct perf_event_attr){.sample_period = UINT64_C(1) << 62};
	vmop_perf_rate_set_attr(64, &attr);
	assert_int_equal(attr.sample_period, INT64_MAX);
}

static void notes(void **state)
{
	(void)state;
	char text[] = "the clock, because there is no PMU", *note;
	const struct vmop_event_info whole = {0}, half = {.enabled_ns = 1000, .running_ns = 500};
	struct vmop_perf_event event = {0};
	assert_true(vmop_perf_note(&event, &whole, NULL, &note));
	assert_null(note);
	assert_true(vmop_perf_note(&event, &whole, "slower", &note));
	assert_string_equal(note, "slower");
	free(note);
	event.note = text;
	assert_true(vmop_perf_note(&event, &half, "slower", &note));
	assert_string_equal(note, "the clock, because there is no PMU; multiplexed, because it "
				  "shares its counters with other events: counted 50.0 % of the "
				  "time, scale x2.00; slower");
	free(note);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(weights_add_up_across_changes),
		cmocka_unit_test(an_event_that_the_kernel_counts),
		cmocka_unit_test(attributes_stay_in_range),
		cmocka_unit_test(notes),
	};
	struct vmop_source *source = open_source("cpu-clock:4000Hz");
	if (!source)
		return 77; /* with the reason above */
	vmop_source_close(source);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
