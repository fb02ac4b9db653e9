// SPDX-License-Identifier: GPL-2.0-or-later
/* Zones that an archive may name, and this machine's. */
#include "opreport/archive/time-zone.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libutil/cleanup.h"

static void only_rules_are_zones(void **state)
{
	(void)state;
	const struct {
		const char *text;
		bool is_good;
	} cases[] = {
		{"UTC0", true},
		{"CET-1CEST,M3.5.0,M10.5.0/3", true},
		{"<+0330>-3:30", true},
		{"EST5EDT", true},
		{"", false},
		{"UTC", false},
		{":/etc/passwd", false},
		{"/etc/localtime", false},
		{"Europe/Berlin", false},
		{"AAA0/../../../etc/passwd", false},
		{"AAA0\n", false},
		{"<++++++", false},
		{"<", false},
		{"<+0", false},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		if (vmop_time_zone_is_posix(cases[i].text) != cases[i].is_good)
			fail_msg("%s", cases[i].text);
}

static void assert_found(const char *tz, const char *wanted)
{
	setenv("TZ", tz, 1);
	_cleanup_free_ char *zone = vmop_time_zone_find();
	assert_string_equal(zone, wanted);
	unsetenv("TZ");
}

static void this_machines_zone_is_a_rule(void **state)
{
	(void)state;
	assert_found("EST5EDT,M3.2.0,M11.1.0", "EST5EDT,M3.2.0,M11.1.0");
	assert_found("", "UTC0");
	assert_found(":/dev/null", "");
	if (!access("/usr/share/zoneinfo/Europe/Berlin", R_OK)) {
		assert_found("Europe/Berlin", "CET-1CEST,M3.5.0,M10.5.0/3");
		assert_found(":Europe/Berlin", "CET-1CEST,M3.5.0,M10.5.0/3");
	}
	unsetenv("TZ");
	_cleanup_free_ char *zone = vmop_time_zone_find();
	assert_true(!*zone || vmop_time_zone_is_posix(zone));
}

static void the_users_zone_wins(void **state)
{
	(void)state;
	setenv("TZ", "AAA-2", 1);
	vmop_time_zone_use("BBB-3");
	assert_string_equal(getenv("TZ"), "AAA-2");
	unsetenv("TZ");
	vmop_time_zone_use("");
	assert_null(getenv("TZ"));
	vmop_time_zone_use("BBB-3");
	assert_string_equal(getenv("TZ"), "BBB-3");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_rules_are_zones),
		cmocka_unit_test(this_machines_zone_is_a_rule),
		cmocka_unit_test(the_users_zone_wins),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
