// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/tsc.h"

#include <cmocka.h>
#include <stdlib.h>

#include "libutil/clock.h"

static void a_pair_lies_between_two_readings_of_the_clock(void **state)
{
	struct vmop_tsc_pair pair;
	(void)state;
	uint64_t before_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	if (!vmop_tsc_read(&pair))
		skip();
	assert_true(pair.time_ns >= before_ns);
	assert_true(pair.time_ns <= vmop_clock_ns(CLOCK_MONOTONIC));
	assert_true(pair.tsc > 0);
}

static void both_go_forward(void **state)
{
	struct vmop_tsc_pair before, after;
	(void)state;
	if (!vmop_tsc_read(&before))
		skip();
	for (unsigned i = 0; i < 100; i++) {
		assert_true(vmop_tsc_read(&after));
		assert_true(after.time_ns >= before.time_ns && after.tsc >= before.tsc);
		before = after;
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pair_lies_between_two_readings_of_the_clock),
		cmocka_unit_test(both_go_forward),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
