// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/perf/ring-size.h"

#define MIB (size_t)(1 << 20)

static struct vmop_perf_event event;
static uint8_t wanted = VMOP_PERF_ALL_CLASSES;

/* Return a plan with a clock of that many samples a second and stacks in a mode. */
static struct vmop_perf_plan clock_plan(uint64_t hz, enum vmop_stack_mode mode, uint32_t copy_bytes)
{
	event = (struct vmop_perf_event){
		.kind = VMOP_PERF_CLOCK,
		.attr = {.sample_period = 1000000000 / hz},
	};
	return (struct vmop_perf_plan){
		.events = &event,
		.wanted = &wanted,
		.n_events = 1,
		.stacks = {.is = {.mode = mode, .user_stack_bytes = copy_bytes}},
	};
}

static size_t ring_of(struct vmop_perf_plan *plan, size_t buffer_bytes, size_t n_cpus)
{
	const struct vmop_source_setup setup = {.buffer_bytes = buffer_bytes};
	vmop_perf_ring_size_set(plan, &setup, n_cpus);
	assert_int_equal(plan->ring_bytes & (plan->ring_bytes - 1), 0);
	assert_true(plan->watermark_bytes < plan->ring_bytes);
	return plan->ring_bytes;
}

static void without_stacks(void **state)
{
	(void)state;
	struct vmop_perf_plan plan = clock_plan(999, VMOP_STACKS_OFF, 16384);
	assert_int_equal(ring_of(&plan, 0, 2), MIB);
	assert_int_equal(plan.watermark_bytes, MIB / 2);
	plan = clock_plan(100000, VMOP_STACKS_OFF, 0);
	assert_int_equal(ring_of(&plan, 0, 2), 8 * MIB);
	assert_int_equal(ring_of(&plan, 65536, 2), 65536);
	assert_null(vmop_perf_ring_size_note(&plan));
	assert_null(plan.stacks.note);
}

static void half_a_second_of_copies(void **state)
{
	(void)state;
	static const struct {
		uint64_t hz;
		uint32_t copy_bytes;
		size_t ring_bytes;
	} table[] = {
		{99, 8192, 1 << 20},	{999, 8192, 8 << 20},	{999, 16384, 8 << 20},
		{999, 32768, 16 << 20}, {999, 65528, 32 << 20}, {4000, 16384, 32 << 20},
	};
	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++) {
		struct vmop_perf_plan plan =
			clock_plan(table[i].hz, VMOP_STACKS_CFI, table[i].copy_bytes);
		assert_int_equal(ring_of(&plan, 0, 2), table[i].ring_bytes);
		assert_int_equal(plan.watermark_bytes, table[i].ring_bytes / 4);
		assert_null(vmop_perf_ring_size_note(&plan));
		assert_null(plan.stacks.note);
	}
	struct vmop_perf_plan plan = clock_plan(999, VMOP_STACKS_FP, 16384);
	assert_int_equal(ring_of(&plan, 0, 2), MIB);
}

/* A second of contexts, or with stacks a quarter of a second with their windows. */
static void room_for_contexts(void **state)
{
	(void)state;
	struct vmop_perf_plan plan = clock_plan(999, VMOP_STACKS_OFF, 0);
	plan.program.captures_guests = true;
	assert_int_equal(ring_of(&plan, 0, 2), MIB);
	assert_int_equal(plan.watermark_bytes, MIB / 4);
	plan = clock_plan(10000, VMOP_STACKS_OFF, 0);
	plan.program.captures_guests = true;
	assert_int_equal(ring_of(&plan, 0, 2), 8 * MIB);
	plan = clock_plan(999, VMOP_STACKS_FP, 0);
	assert_int_equal(ring_of(&plan, 0, 2), MIB);
	plan.program.captures_guests = true;
	assert_int_equal(ring_of(&plan, 0, 2), 8 * MIB);
	/* The smallest ring holds some of the largest. */
	const size_t largest = sizeof(struct vmop_bpf_guest) + VMOP_GUEST_KERNEL_WINDOW_MAX +
			       VMOP_GUEST_UNKNOWN_SP_WINDOW_MAX + VMOP_GUEST_USER_WINDOW_MAX;
	assert_true(ring_of(&plan, 4096, 2) >= 8 * largest);
	/* Events that the program can't run at have none. */
	plan.events[0].attr.type = PERF_TYPE_TRACEPOINT;
	assert_int_equal(ring_of(&plan, 0, 2), MIB);
}

/* With BPF a quarter of the stacks is copied, but a tracepoint's are all. */
static void half_a_second_with_bpf(void **state)
{
	(void)state;
	struct vmop_perf_plan plan = clock_plan(999, VMOP_STACKS_BPF, 16384);
	assert_int_equal(ring_of(&plan, 0, 2), 4 * MIB);
	assert_int_equal(plan.watermark_bytes, MIB);
	/* Contexts of guests enlarge the ring, and do not delay the tables of the host's programs. */
	plan.program.captures_guests = true;
	assert_true(ring_of(&plan, 0, 2) > 4 * MIB);
	assert_int_equal(plan.watermark_bytes, MIB);
	plan.program.captures_guests = false;
	plan.events[0].attr.type = PERF_TYPE_TRACEPOINT;
	assert_int_equal(ring_of(&plan, 0, 2), 8 * MIB);
	plan.events[0].attr.type = PERF_TYPE_SOFTWARE;
	assert_int_equal(vmop_perf_ring_size_stack_hz(&plan), 999);
}

static void many_cpus_share_a_bound(void **state)
{
	(void)state;
	struct vmop_perf_plan plan = clock_plan(4000, VMOP_STACKS_CFI, 65528);
	size_t one = ring_of(&plan, 0, 1), many = ring_of(&plan, 0, 256);
	assert_int_equal(one, 64 * MIB);
	assert_true(many * 256 <= 1024 * MIB);
	assert_null(vmop_perf_ring_size_note(&plan));
	assert_non_null(strstr(plan.stacks.note, "samples may be lost"));
	free(plan.stacks.note);
}

static void a_ring_holds_some_samples(void **state)
{
	(void)state;
	struct vmop_perf_plan plan = clock_plan(1, VMOP_STACKS_CFI, 65528);
	assert_true(ring_of(&plan, 8192, 2) >= 8 * 65528);
	assert_null(vmop_perf_ring_size_note(&plan));
	assert_null(plan.stacks.note);
}

static void the_wake_up_leaves_a_reserve(void **state)
{
	(void)state;
	const struct vmop_source_setup setup = {.wakeup_ms = 450};
	struct vmop_perf_plan plan = clock_plan(999, VMOP_STACKS_CFI, 16384);
	vmop_perf_ring_size_set(&plan, &setup, 2);
	/* 450 ms take 7.5 MB of the 8 MiB. */
	assert_int_equal(plan.watermark_bytes, plan.ring_bytes / 8);
	plan = clock_plan(999, VMOP_STACKS_OFF, 0);
	vmop_perf_ring_size_set(&plan, &setup, 2);
	assert_int_equal(plan.watermark_bytes, plan.ring_bytes / 4 * 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_stacks),
		cmocka_unit_test(half_a_second_of_copies),
		cmocka_unit_test(half_a_second_with_bpf),
		cmocka_unit_test(room_for_contexts),
		cmocka_unit_test(many_cpus_share_a_bound),
		cmocka_unit_test(a_ring_holds_some_samples),
		cmocka_unit_test(the_wake_up_leaves_a_reserve),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
