// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/event-set.h"

#include <cmocka.h>
#include <string.h>

static void refused(const char *list, const char *words)
{
	struct vmop_event_set set = {0};
	struct vmop_error *err = vmop_event_set_resolve(list, -1, false, &set);
	if (!err)
		fail_msg("'%s' is accepted", list);
	if (!strstr(err->message, words))
		fail_msg("'%s': '%s' does not contain '%s'", list, err->message, words);
	assert_int_equal(err->code, VMOP_ERROR_USAGE);
	vmop_error_destroy(err);
}

static void names_and_groups(void **state)
{
	(void)state;
	struct vmop_event_set set;
	assert_null(vmop_event_set_resolve(
		"task-clock,{page-faults,minor-faults:::0:1},context-switches", -1, true, &set));
	assert_int_equal(set.n, 4);
	assert_string_equal(set.events[0].name, "task-clock");
	assert_string_equal(set.events[0].unit, "ns");
	assert_string_equal(set.events[2].name, "minor-faults:u");
	assert_true(set.events[2].attr.exclude_kernel);
	const size_t leaders[] = {0, 1, 1, 3}, sizes[] = {1, 2, 1, 1};
	for (size_t i = 0; i < set.n; i++) {
		assert_int_equal(set.events[i].leader, leaders[i]);
		assert_int_equal(vmop_event_set_group_size(&set, i), sizes[i]);
		assert_int_equal(set.events[i].attr.sample_period, 0);
		assert_int_equal(set.events[i].attr.freq, 0);
		assert_null(set.events[i].reason);
	}
	vmop_event_set_deinit(&set);
}

static void wrong_lists_are_refused(void **state)
{
	(void)state;
	refused("", "has no name");
	refused("task-clock,", "has no name");
	refused("page-faults:100", "neither a COUNT");
	refused("task-clock:1000Hz", "neither a COUNT");
	refused("{task-clock,page-faults", "has no '}'");
	refused("task-clock}", "braces do not match");
	refused("{task-clock,{page-faults}", "braces do not match");
	struct vmop_event_set set;
	struct vmop_error *err = vmop_event_set_resolve("no-such-event", -1, true, &set);
	assert_non_null(err);
	assert_non_null(strstr(err->message, "no event 'no-such-event'"));
	vmop_error_destroy(err);
}

/* Counts that would always be 0, or of more than was wanted, are not offered. */
static void untrue_counts_have_a_reason(void **state)
{
	(void)state;
	struct vmop_event_set set;
	assert_null(
		vmop_event_set_resolve("context-switches:::0:1,task-clock:::0:1,page-faults:::0:1,"
				       "{cs,no-such-event}",
				       -1, false, &set));
	assert_int_equal(set.n, 5);
	assert_string_equal(set.events[0].reason, VMOP_ONLY_IN_KERNEL);
	assert_string_equal(set.events[1].reason, VMOP_CLOCK_COUNTS_BOTH);
	assert_null(set.events[2].reason);
	assert_non_null(strstr(set.events[3].reason, "no-such-event of its group"));
	assert_non_null(strstr(set.events[4].reason, "no event 'no-such-event'"));
	vmop_event_set_deinit(&set);
}

static void only_a_pmu_leaves_out_the_host(void **state)
{
	(void)state;
	struct vmop_event_set set;
	assert_null(vmop_event_set_resolve(
		"task-clock:::1:1:0:1,page-faults:::1:1:1:0,{cs,cs:::1:1:0:1}", -1, false, &set));
	assert_int_equal(set.n, 4);
	assert_string_equal(set.events[0].reason, VMOP_ONLY_A_PMU_DIVIDES);
	assert_string_equal(set.events[1].reason, VMOP_ONLY_A_PMU_DIVIDES);
	assert_non_null(strstr(set.events[2].reason, "of its group"));
	assert_string_equal(set.events[3].reason, VMOP_ONLY_A_PMU_DIVIDES);
	assert_null(vmop_set_event_leave_out_host(&set.events[2]));
	assert_non_null(strstr(set.events[2].name, ":G"));
	assert_int_equal(set.events[2].attr.exclude_host, 1);
	vmop_event_set_deinit(&set);
}

static void too_many_are_refused(void **state)
{
	(void)state;
	char list[4 * (VMOP_COUNTERS_MAX + 1)] = "cs";
	for (unsigned i = 0; i < VMOP_COUNTERS_MAX; i++)
		strcat(list, ",cs");
	struct vmop_event_set set;
	struct vmop_error *err = vmop_event_set_resolve(list, -1, false, &set);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_LIMIT);
	vmop_error_destroy(err);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_and_groups),
		cmocka_unit_test(wrong_lists_are_refused),
		cmocka_unit_test(untrue_counts_have_a_reason),
		cmocka_unit_test(only_a_pmu_leaves_out_the_host),
		cmocka_unit_test(too_many_are_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
