// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>

#include <stdlib.h>
#include <time.h>

#include "daemon/pause.h"
#include "daemon/rotation.h"
#include "libutil/clock.h"

static const struct vmop_setup_rotate daily = {.is_daily = true}, never = {0},
				      by_size = {.bytes = 1000};

/* Return CLOCK_REALTIME of a local time. */
static uint64_t local_ns(int year, int month, int day, int hour, int minute)
{
	struct tm tm = {.tm_year = year - 1900,
			.tm_mon = month - 1,
			.tm_mday = day,
			.tm_hour = hour,
			.tm_min = minute,
			.tm_isdst = -1};
	return (uint64_t)mktime(&tm) * VMOP_NS_PER_S;
}

static bool is_due(const struct vmop_setup_rotate *rotate, uint64_t start_ns, uint64_t now_ns)
{
	return vmop_rotation_is_due(rotate, start_ns, now_ns, 0);
}

static void local_days(void **state)
{
	(void)state;
	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1); /* Berlin's, without a zone file */
	tzset();
	uint64_t evening_ns = local_ns(2026, 12, 31, 23, 59);
	assert_false(is_due(&daily, evening_ns, evening_ns));
	assert_false(is_due(&daily, evening_ns, evening_ns + 59 * VMOP_NS_PER_S));
	assert_true(is_due(&daily, evening_ns, evening_ns + 60 * VMOP_NS_PER_S));
	assert_true(is_due(&daily, evening_ns, local_ns(2027, 6, 1, 0, 0)));
	assert_false(is_due(&never, evening_ns, evening_ns + 60 * VMOP_NS_PER_S));
	/* A clock that was set back ends no day. */
	assert_false(is_due(&daily, evening_ns, local_ns(2026, 12, 30, 12, 0)));
	/* The day when clocks are set back has 25 hours. */
	uint64_t midnight_ns = local_ns(2026, 10, 25, 0, 0);
	assert_false(is_due(&daily, midnight_ns, midnight_ns + 24 * 3600 * VMOP_NS_PER_S));
	assert_true(is_due(&daily, midnight_ns, midnight_ns + 25 * 3600 * VMOP_NS_PER_S));
	/* The last day of a leap year. */
	assert_true(is_due(&daily, local_ns(2028, 12, 31, 12, 0), local_ns(2029, 1, 1, 0, 0)));
}

static void sizes(void **state)
{
	(void)state;
	assert_false(vmop_rotation_is_due(&by_size, 1, 2, 999));
	assert_true(vmop_rotation_is_due(&by_size, 1, 2, 1000));
	assert_false(vmop_rotation_is_due(&never, 1, 2, UINT64_MAX));
}

/* A pause lasts from the last drain, or from the moment when the thread woke up. */
static void pauses(void **state)
{
	(void)state;
	struct vmop_pause pause = {0};
	vmop_pause_end(&pause, 0, 100); /* nothing was drained, and the loop has not slept */
	assert_int_equal(pause.longest_ns, 0);
	vmop_pause_end(&pause, 100, 130);
	assert_int_equal(pause.longest_ns, 30);
	pause.drained_ns = 140;
	vmop_pause_end(&pause, 100, 160);
	assert_int_equal(pause.longest_ns, 30);
	vmop_pause_end(&pause, 100, 190);
	assert_int_equal(pause.longest_ns, 50);
	vmop_pause_end(&pause, 1000, 1020); /* it slept since */
	assert_int_equal(pause.longest_ns, 50);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(local_days),
		cmocka_unit_test(sizes),
		cmocka_unit_test(pauses),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
