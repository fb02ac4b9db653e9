// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/local-time.h"

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/clock.h"

static void use_zone(const char *zone)
{
	setenv("TZ", zone, 1);
	tzset();
}

/* Return "2026-10-25 02:00:00 +0200" of a time; a static buffer. */
static const char *shown(uint64_t time_ns)
{
	static char text[64];
	time_t seconds = (time_t)(time_ns / VMOP_NS_PER_S);
	struct tm tm;
	assert_non_null(localtime_r(&seconds, &tm));
	strftime(text, sizeof(text), "%Y-%m-%d %H:%M:%S %z", &tm);
	return text;
}

/* Berlin without the zone's database: summer time from the last Sundays of March to October. */
#define BERLIN "CET-1CEST,M3.5.0,M10.5.0/3"
/* Lord Howe Island: half an hour. */
#define LORD_HOWE "LHST-10:30LHDT-11,M10.1.0,M4.1.0"
/* Clocks go forward at midnight, so that a day begins at 01:00. */
#define MIDNIGHT "BRT3BRST2,M10.3.0/0,M2.3.0/0"

static struct tm civil(int year, int month, int day, int hour, int minute)
{
	return (struct tm){.tm_year = year - 1900,
			   .tm_mon = month - 1,
			   .tm_mday = day,
			   .tm_hour = hour,
			   .tm_min = minute};
}

static void a_time_can_happen_twice_or_never(void **state)
{
	(void)state;
	uint64_t first_ns, last_ns;
	use_zone(BERLIN);
	struct tm twice = civil(2026, 10, 25, 2, 30);
	assert_true(vmop_local_to_real(&twice, &first_ns, &last_ns));
	assert_string_equal(shown(first_ns), "2026-10-25 02:30:00 +0200");
	assert_string_equal(shown(last_ns), "2026-10-25 02:30:00 +0100");
	struct tm never = civil(2026, 3, 29, 2, 30);
	assert_true(vmop_local_to_real(&never, &first_ns, &last_ns));
	assert_int_equal(first_ns, last_ns);
	assert_string_equal(shown(first_ns), "2026-03-29 03:30:00 +0200");
	struct tm once = civil(2026, 7, 1, 12, 0);
	assert_true(vmop_local_to_real(&once, &first_ns, &last_ns));
	assert_int_equal(first_ns, last_ns);
	assert_string_equal(shown(first_ns), "2026-07-01 12:00:00 +0200");
	struct tm past = civil(1969, 1, 1, 0, 0), future = civil(2300, 1, 1, 0, 0);
	assert_false(vmop_local_to_real(&past, &first_ns, &last_ns));
	assert_false(vmop_local_to_real(&future, &first_ns, &last_ns));
}

static void days_have_23_to_25_hours(void **state)
{
	(void)state;
	uint64_t noon_ns, last_ns, from_ns, to_ns;
	use_zone(BERLIN);
	struct tm noon = civil(2026, 10, 25, 12, 0);
	assert_true(vmop_local_to_real(&noon, &noon_ns, &last_ns));
	assert_true(vmop_local_midnight(noon_ns, 0, &from_ns));
	assert_true(vmop_local_midnight(noon_ns, 1, &to_ns));
	assert_int_equal((to_ns - from_ns) / VMOP_NS_PER_S, 25 * 3600);
	assert_int_equal(vmop_local_step_start(noon_ns, 86400), from_ns);
	assert_int_equal(vmop_local_step_end(from_ns, 86400), to_ns);
	noon = civil(2026, 3, 29, 12, 0);
	assert_true(vmop_local_to_real(&noon, &noon_ns, &last_ns));
	from_ns = vmop_local_step_start(noon_ns, 86400);
	assert_int_equal((vmop_local_step_end(from_ns, 86400) - from_ns) / VMOP_NS_PER_S,
			 23 * 3600);
	use_zone(MIDNIGHT);
	noon = civil(2026, 10, 18, 12, 0);
	assert_true(vmop_local_to_real(&noon, &noon_ns, &last_ns));
	assert_string_equal(shown(vmop_local_step_start(noon_ns, 86400)),
			    "2026-10-18 01:00:00 -0200");
}

static void assert_steps(const char *zone, struct tm from, uint64_t step_s, const char *const *want)
{
	uint64_t at_ns, last_ns;
	use_zone(zone);
	assert_true(vmop_local_to_real(&from, &at_ns, &last_ns));
	at_ns = vmop_local_step_start(at_ns, step_s);
	for (; *want; want++) {
		assert_string_equal(shown(at_ns), *want);
		at_ns = vmop_local_step_end(at_ns, step_s);
	}
}

static void steps_follow_the_local_clock(void **state)
{
	(void)state;
	static const char *const hours[] = {
		"2026-10-25 01:00:00 +0200", "2026-10-25 02:00:00 +0200",
		"2026-10-25 02:00:00 +0100", "2026-10-25 03:00:00 +0100", NULL};
	assert_steps(BERLIN, civil(2026, 10, 25, 1, 20), 3600, hours);
	static const char *const spring[] = {"2026-03-29 01:00:00 +0100",
					     "2026-03-29 03:00:00 +0200", NULL};
	assert_steps(BERLIN, civil(2026, 3, 29, 1, 59), 3600, spring);
	/* Three hours that last four, and six that last five. */
	static const char *const threes[] = {"2026-10-25 00:00:00 +0200",
					     "2026-10-25 03:00:00 +0100",
					     "2026-10-25 06:00:00 +0100", NULL};
	assert_steps(BERLIN, civil(2026, 10, 25, 1, 0), 3 * 3600, threes);
	static const char *const sixes[] = {"2026-03-29 00:00:00 +0100",
					    "2026-03-29 06:00:00 +0200", NULL};
	assert_steps(BERLIN, civil(2026, 3, 29, 5, 0), 6 * 3600, sixes);
	/* Half an hour is set back at 02:00: the hour from 01:00 happens one and a half times. */
	static const char *const halves[] = {"2026-04-05 01:00:00 +1100",
					     "2026-04-05 01:30:00 +1030",
					     "2026-04-05 02:00:00 +1030", NULL};
	assert_steps(LORD_HOWE, civil(2026, 4, 5, 1, 10), 3600, halves);
	static const char *const weeks[] = {"2026-10-19 00:00:00 +0200",
					    "2026-10-26 00:00:00 +0100", NULL};
	assert_steps(BERLIN, civil(2026, 10, 25, 23, 0), 7 * 86400, weeks);
}

static void some_steps_are_none(void **state)
{
	(void)state;
	static const uint64_t valid[] = {1, 60, 3600, 7200, 86400, 2 * 86400, 366 * 86400};
	static const uint64_t invalid[] = {0,	      7, 3601, 86401, 367 * 86400, 1000000000000,
					   UINT64_MAX};
	for (size_t i = 0; i < sizeof(valid) / sizeof(*valid); i++)
		assert_true(vmop_local_step_is_valid(valid[i]));
	for (size_t i = 0; i < sizeof(invalid) / sizeof(*invalid); i++)
		assert_false(vmop_local_step_is_valid(invalid[i]));
}

/* In each zone, steps of each length follow one another, contain their times, and never stand
 * still. */
static void steps_partition_the_time(void **state)
{
	(void)state;
	static const char *const zones[] = {
		"UTC",	       BERLIN,		LORD_HOWE,	     MIDNIGHT,
		"XXX+12:37",   "Europe/Berlin", "Africa/Casablanca", "America/St_Johns",
		"Pacific/Apia"};
	static const uint64_t steps[] = {1,	    900,       3600,	  2 * 3600,
					 3 * 3600,  6 * 3600,  12 * 3600, 86400,
					 2 * 86400, 7 * 86400, 30 * 86400};
	uint64_t random = 1;
	for (size_t z = 0; z < sizeof(zones) / sizeof(*zones); z++) {
		use_zone(zones[z]);
		for (int i = 0; i < 3000; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			uint64_t step_s = steps[(random >> 20) % (sizeof(steps) / sizeof(*steps))];
			/* 2000 to 2063; half of the times are in the weeks of changes */
			uint64_t at_s = 946684800 + (random >> 33) % 2000000000;
			if (i & 1)
				at_s = 1792890000 - 86400 + at_s % (2 * 86400);
			uint64_t at_ns = at_s * VMOP_NS_PER_S;
			uint64_t start_ns = vmop_local_step_start(at_ns, step_s);
			uint64_t end_ns = vmop_local_step_end(start_ns, step_s);
			assert_in_range(at_ns, start_ns, end_ns - 1);
			assert_int_equal(vmop_local_step_start(end_ns - VMOP_NS_PER_S, step_s),
					 start_ns);
			assert_int_equal(vmop_local_step_start(end_ns, step_s), end_ns);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_time_can_happen_twice_or_never),
		cmocka_unit_test(days_have_23_to_25_hours),
		cmocka_unit_test(steps_follow_the_local_clock),
		cmocka_unit_test(some_steps_are_none),
		cmocka_unit_test(steps_partition_the_time),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
