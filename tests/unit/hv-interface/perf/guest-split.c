// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events split into a counter for the host and one for guests, as on arm64 with KVM. The PMU is
 * made up (hv-interface/layer.h) and has a chosen number of counters.
 */
#include <cmocka.h>

#include "tests/unit/hv-interface/layer.h"

#define SWITCH_NOTE "while the kernel switches to a guest"

/* Open events on one CPU with that many counters. */
static struct vmop_source *open_on(unsigned counters, const char *events)
{
	refuse(NULL, 0);
	online = "0";
	is_arm64_kvm = true;
	layer.counters = counters;
	return must_open(events);
}

static void assert_opened(unsigned all, unsigned host_only, unsigned guest_only)
{
	assert_int_equal(layer.n_hardware, all);
	assert_int_equal(layer.n_host_only, host_only);
	assert_int_equal(layer.n_guest_only, guest_only);
}

static void as_many_as_there_are_counters(void **state)
{
	(void)state;
	struct vmop_source *source = open_on(6, "cycles:1000003 instructions:1000003");
	assert_opened(4, 2, 2);
	assert_int_equal(vmop_source_n_events(source), 2);
	assert_event(source, 0, "cycles", NULL);
	assert_event(source, 1, "instructions", NULL);
	vmop_source_close(source);
	source = open_on(3, "cycles:1000003 instructions:1000003");
	assert_opened(3, 1, 1);
	assert_event(source, 0, "cycles", NULL);
	assert_event(source, 1, "instructions", SWITCH_NOTE);
	assert_event(source, 1, "instructions", "too few counters");
	vmop_source_close(source);
	/* they share the counter anyway */
	source = open_on(1, "cycles:1000003 instructions:1000003");
	assert_opened(2, 0, 0);
	assert_event(source, 0, "cycles", SWITCH_NOTE);
	vmop_source_close(source);
}

static void an_event_of_one_world_is_not_split(void **state)
{
	(void)state;
	struct vmop_source *source = open_on(6, "cycles:1000003::1:1:1:0 r8:1000003::1:1:0:1");
	assert_opened(2, 1, 1);
	assert_event(source, 0, "cycles:H", NULL);
	assert_event(source, 1, "r8:G", NULL);
	vmop_source_close(source);
	source = open_on(6, "cpu-clock page-faults");
	assert_opened(0, 0, 0);
	assert_event(source, 0, "cpu-clock", SWITCH_NOTE);
	assert_event(source, 0, "cpu-clock", "a clock can't");
	assert_event(source, 1, "page-faults", NULL);
	vmop_source_close(source);
}

static void elsewhere_nothing_is_split(void **state)
{
	(void)state;
	is_arm64_kvm = false;
	online = "0";
	struct vmop_source *source = must_open("cycles:1000003 cpu-clock");
	assert_opened(1, 0, 0);
	assert_event(source, 0, "cycles", NULL);
	assert_event(source, 1, "cpu-clock", NULL);
	vmop_source_close(source);
}

static bool halves(const struct perf_event_attr *attr, int cpu)
{
	(void)cpu;
	return is_hardware(attr) && attr->exclude_host && attr->sample_type;
}

/* A refused half: the event stays whole and has a note. Without a PMU: the clock. */
static void a_refused_half(void **state)
{
	(void)state;
	online = "0";
	is_arm64_kvm = true;
	refuse(halves, EINVAL);
	struct vmop_source *source = must_open("cycles:1000003");
	assert_event(source, 0, "cycles", SWITCH_NOTE);
	vmop_source_close(source);
	refuse(all_hardware, ENOENT);
	source = must_open("cycles:1000003");
	assert_event(source, 0, "cpu-clock", "cpu-clock stands in");
	assert_event(source, 0, "cpu-clock", SWITCH_NOTE);
	vmop_source_close(source);
	refuse(halves, EMFILE);
	must_fail("cycles:1000003", VMOP_ERROR_CANT, "3 of them for each CPU");
	refuse(halves, EACCES);
	must_fail("cycles:1000003", VMOP_ERROR_CANT, "no permission");
}

/* Count the samples of both halves, which carry the same event. */
static void count(void *arg, const struct vmop_record *record,
		  const struct vmop_stack_capture *stack)
{
	(void)stack;
	uint64_t *samples = arg;
	if (record->type == VMOP_RECORD_SAMPLE) {
		assert_int_equal(record->sample.event, 0);
		*samples += 1;
	}
}

static void both_halves_are_one_event(void **state)
{
	(void)state;
	struct vmop_source *source = open_on(6, "cycles:1000000");
	uint64_t samples = 0;
	bool ended;
	const struct vmop_sink sink = {count, &samples};
	assert_int_equal(vmop_source_n_events(source), 1);
	assert_null(vmop_source_start(source));
	struct timespec pause = {.tv_nsec = 50000000};
	nanosleep(&pause, NULL);
	assert_null(vmop_source_stop(source));
	assert_null(vmop_source_drain(source, UINT64_MAX, &sink, &ended));
	assert_true(samples > 0); /* the clock behind the made-up PMU ticks on an idle CPU too */
	struct vmop_source_stats stats;
	vmop_source_stats(source, &stats);
	assert_int_equal(stats.malformed_records, 0);
	const struct vmop_event_info *info = vmop_source_event(source, 0);
	assert_true(info->enabled_ns > 0 && info->running_ns == info->enabled_ns);
	vmop_source_close(source);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(as_many_as_there_are_counters), TEST(an_event_of_one_world_is_not_split),
		TEST(elsewhere_nothing_is_split),    TEST(a_refused_half),
		TEST(both_halves_are_one_event),
	};
	return cmocka_run_group_tests_name("hv-interface/perf/guest-split", tests, may_sample,
					   NULL);
}
