// SPDX-License-Identifier: GPL-2.0-or-later
/* Test the roles, modes and PMUs of event names. */
#include "opreport/query/event-name.h"

#include <cmocka.h>
#include <stddef.h>

static void roles(void **state)
{
	(void)state;
	static const struct {
		const char *name;
		enum vmop_event_role role;
	} cases[] = {
		{"cycles", VMOP_EVENT_CYCLES},
		{"cpu-cycles", VMOP_EVENT_CYCLES},
		{"CPU_CYCLES", VMOP_EVENT_CYCLES},
		{"cycles:u", VMOP_EVENT_CYCLES},
		{"cpu/cycles/", VMOP_EVENT_CYCLES},
		{"cpu_core/cpu-cycles/:kH", VMOP_EVENT_CYCLES},
		{"CPU_CLK_UNHALTED", VMOP_EVENT_CYCLES},
		{"skl::CPU_CLK_UNHALTED:THREAD_P", VMOP_EVENT_CYCLES},
		{"skl::CPU_CLK_UNHALTED:THREAD_P:u", VMOP_EVENT_CYCLES},
		{"CPU_CLK_UNHALTED:REF_P", VMOP_EVENT_OTHER},
		{"ref-cycles", VMOP_EVENT_OTHER},
		{"cpu-clock", VMOP_EVENT_OTHER},
		{"stalled-cycles-backend", VMOP_EVENT_OTHER},
		{"instructions", VMOP_EVENT_INSTRUCTIONS},
		{"inst_retired", VMOP_EVENT_INSTRUCTIONS},
		{"INST_RETIRED:ANY_P", VMOP_EVENT_INSTRUCTIONS},
		{"RETIRED_INSTRUCTIONS:G", VMOP_EVENT_INSTRUCTIONS},
		{"BR_INST_RETIRED", VMOP_EVENT_OTHER},
		{"cache-misses", VMOP_EVENT_MISSES},
		{"LLC_MISSES:0x41", VMOP_EVENT_MISSES},
		{"dTLB-load-misses:k", VMOP_EVENT_MISSES},
		{"armv8_pmuv3_0/ll_cache_miss_rd/", VMOP_EVENT_MISSES},
		{"cpu/event=0x3c/", VMOP_EVENT_OTHER},
		{"", VMOP_EVENT_OTHER},
		{":", VMOP_EVENT_OTHER},
		{"/", VMOP_EVENT_OTHER},
		{"::", VMOP_EVENT_OTHER},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		if (vmop_event_role(cases[i].name) != cases[i].role)
			fail_msg("'%s' is %d", cases[i].name, (int)vmop_event_role(cases[i].name));
	}
}

static void modifiers(void **state)
{
	(void)state;
	assert_string_equal(vmop_event_modifiers("cycles:uH"), ":uH");
	assert_string_equal(vmop_event_modifiers("cycles"), "");
	assert_string_equal(vmop_event_modifiers("cycles:"), "");
	assert_string_equal(vmop_event_modifiers("sched:sched_switch"), "");
	assert_string_equal(vmop_event_modifiers("sched:sched_switch:k"), ":k");
	assert_string_equal(vmop_event_modifiers("ivb::u"), ""); /* an event of that name */
	assert_string_equal(vmop_event_modifiers(":u"), "");
}

static void who_goes_with_whom(void **state)
{
	(void)state;
	assert_true(vmop_event_names_compare("cycles", "instructions"));
	assert_true(vmop_event_names_compare("cycles:u", "instructions:u"));
	assert_true(vmop_event_names_compare("cpu_core/cycles/", "cpu_core/instructions/"));
	assert_true(vmop_event_names_compare("skl::A", "SKL::B:C"));
	assert_false(vmop_event_names_compare("cycles:u", "instructions"));
	assert_false(vmop_event_names_compare("cycles:u", "instructions:k"));
	assert_false(vmop_event_names_compare("cpu_core/cycles/", "cpu_atom/instructions/"));
	assert_false(vmop_event_names_compare("cpu_core/cycles/", "instructions"));
	assert_true(vmop_event_names_equal("INST_RETIRED", "inst-retired"));
	assert_false(vmop_event_names_equal("INST_RETIRED", "inst-retired:any"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(roles),
		cmocka_unit_test(modifiers),
		cmocka_unit_test(who_goes_with_whom),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
