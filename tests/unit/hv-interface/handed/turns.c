// SPDX-License-Identifier: GPL-2.0-or-later
/* The task that ran on a CPU at a time, by the scheduler's records. */
#include "hv-interface/handed/turns.h"

#include <cmocka.h>
#include <stdlib.h>

static struct vmop_handed_turns *turns;

/* Task 10 runs until 100, 20 from 104 to 200, the idle task from 204 to 300, then 20 again. */
static int begin(void **state)
{
	static const struct {
		uint64_t ns;
		struct vmop_switch_record record;
	} records[] = {
		{100, {.pid = 10, .tid = 11, .is_out = true}},
		{104, {.pid = 20, .tid = 20}},
		{200, {.pid = 20, .tid = 20, .is_out = true}},
		{204, {.pid = 0}},
		{300, {.pid = 0, .is_out = true}},
		{304, {.pid = 20, .tid = 20}},
	};
	(void)state;
	turns = calloc(1, sizeof(*turns));
	for (size_t i = 0; turns && i < sizeof(records) / sizeof(records[0]); i++)
		vmop_handed_turns_add(turns, records[i].ns, &records[i].record);
	return turns ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	free(turns);
	return 0;
}

static uint32_t find(uint64_t ns, uint64_t error_ns, bool is_kernel)
{
	uint32_t tid;
	return vmop_handed_turns_find(turns, ns, error_ns, is_kernel, &tid);
}

static void a_sample_is_of_the_task_that_ran(void **state)
{
	uint32_t tid = 0;
	(void)state;
	assert_int_equal(vmop_handed_turns_find(turns, 50, 1, false, &tid), 10);
	assert_int_equal(tid, 11);
	assert_int_equal(find(150, 1, false), 20);
	assert_int_equal(find(250, 1, true), 0);
	assert_int_equal(find(1000, 1, false), 20); /* it still runs */
}

static void the_kernel_between_two_tasks_is_of_neither(void **state)
{
	(void)state;
	assert_int_equal(find(102, 1, true), VMOP_PID_SWITCHING);
	assert_int_equal(find(202, 1, true), VMOP_PID_SWITCHING);
}

static void a_sample_near_a_switch_is_not_certain(void **state)
{
	(void)state;
	assert_int_equal(find(99, 2, true), VMOP_PID_NEAR_SWITCH);
	assert_int_equal(find(102, 4, false), VMOP_PID_NEAR_SWITCH); /* 10 or 20 */
	assert_int_equal(find(150, 60, false), VMOP_PID_NEAR_SWITCH);
	assert_int_equal(find(150, UINT64_MAX, false), VMOP_PID_NEAR_SWITCH);
}

/* No program runs in the idle task, or within a switch. */
static void a_program_near_the_idle_task_is_certain(void **state)
{
	(void)state;
	assert_int_equal(find(203, 6, false), 20);
	assert_int_equal(find(301, 6, false), 20);
	assert_int_equal(find(250, 1, false), VMOP_PID_NEAR_SWITCH); /* the clock is wrong */
}

static void lost_records_make_the_task_unknown(void **state)
{
	const struct vmop_switch_record next = {.pid = 30, .tid = 30};
	(void)state;
	vmop_handed_turns_break(turns, 400);
	assert_int_equal(find(450, 1, false), VMOP_PID_NO_TASK);
	assert_int_equal(find(399, 1, false), VMOP_PID_NO_TASK);
	vmop_handed_turns_add(turns, 500, &next);
	assert_int_equal(find(550, 1, false), 30);
	assert_int_equal(find(350, 1, false), 20);
}

static void only_the_last_turns_are_kept(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < VMOP_HANDED_TURNS; i++) {
		const struct vmop_switch_record next = {.pid = 1000 + i, .tid = 1000 + i};
		vmop_handed_turns_add(turns, 1000 + (uint64_t)i * 10, &next);
	}
	assert_int_equal(find(1005, 1, false), 1000);
	assert_int_equal(find(350, 1, false), VMOP_PID_NO_TASK);
	assert_int_equal(find(1000 + VMOP_HANDED_TURNS * 10, 1, false), 999 + VMOP_HANDED_TURNS);
}

static void without_a_record_no_task_is_known(void **state)
{
	struct vmop_handed_turns *empty = calloc(1, sizeof(*empty));
	uint32_t tid;
	(void)state;
	assert_int_equal(vmop_handed_turns_find(empty, 5, 1, true, &tid), VMOP_PID_NO_TASK);
	free(empty);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(a_sample_is_of_the_task_that_ran, begin, end),
		cmocka_unit_test_setup_teardown(the_kernel_between_two_tasks_is_of_neither, begin,
						end),
		cmocka_unit_test_setup_teardown(a_sample_near_a_switch_is_not_certain, begin, end),
		cmocka_unit_test_setup_teardown(a_program_near_the_idle_task_is_certain, begin,
						end),
		cmocka_unit_test_setup_teardown(lost_records_make_the_task_unknown, begin, end),
		cmocka_unit_test_setup_teardown(only_the_last_turns_are_kept, begin, end),
		cmocka_unit_test(without_a_record_no_task_is_known),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
