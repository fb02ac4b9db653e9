// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/clock.h"

#include <cmocka.h>

static const uint64_t second_ns = 1000000000;

static void seconds_and_the_rest(void **state)
{
	static const clockid_t clocks[] = {CLOCK_REALTIME, CLOCK_MONOTONIC, CLOCK_BOOTTIME};
	(void)state;
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		struct timespec before, after;
		clock_gettime(clocks[i], &before);
		uint64_t now_ns = vmop_clock_ns(clocks[i]);
		clock_gettime(clocks[i], &after);
		uint64_t now_s = now_ns / second_ns, rest_ns = now_ns % second_ns;
		assert_true(
			now_s > (uint64_t)before.tv_sec ||
			(now_s == (uint64_t)before.tv_sec && rest_ns >= (uint64_t)before.tv_nsec));
		assert_true(now_s < (uint64_t)after.tv_sec || (now_s == (uint64_t)after.tv_sec &&
							       rest_ns <= (uint64_t)after.tv_nsec));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seconds_and_the_rest),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
