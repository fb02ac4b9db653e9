// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/steal-clock.h"

#include <cmocka.h>
#include <string.h>
#include <unistd.h>

/* The result is either readable with both addresses, or has a reason. */
static void clock_or_reason(void **state)
{
	(void)state;
	struct vmop_steal_clock clock;
	memset(&clock, 0xff, sizeof(clock));
	vmop_steal_clock_find(&clock);
	if (clock.kind == VMOP_STEAL_UNREADABLE) {
		print_message("# %s\n", clock.reason);
		assert_non_null(clock.reason);
	} else {
		assert_null(clock.reason);
		assert_false(clock.is_absent);
		assert_int_not_equal(clock.variable, 0);
		assert_int_not_equal(clock.offsets, 0);
	}
}

static void machine_time_grows(void **state)
{
	(void)state;
	struct vmop_machine_time before, after;
	assert_true(vmop_machine_time_read(&before));
	usleep(30000);
	assert_true(vmop_machine_time_read(&after));
	assert_int_equal(after.n_cpus, sysconf(_SC_NPROCESSORS_ONLN));
	assert_true(after.steal_ns >= before.steal_ns);
	assert_int_equal(after.steal_ns % 1000000, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clock_or_reason),
		cmocka_unit_test(machine_time_grows),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
