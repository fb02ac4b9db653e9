// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>

#include "libutil/parse.h"

static void numbers(void **state)
{
	(void)state;
	uint64_t value = 7;
	assert_true(vmop_parse_u64("18446744073709551615", 10, &value) && value == UINT64_MAX);
	assert_true(vmop_parse_u64("0x10", 0, &value) && value == 16);
	static const char *const bad[] = {"", " 1", "+1", "-1", "1 ", "1x", "18446744073709551616"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_false(vmop_parse_u64(bad[i], 10, &value));
	assert_int_equal(value, 16);
}

static void durations(void **state)
{
	(void)state;
	uint64_t ns = 0;
	assert_true(vmop_parse_duration_ns("90", &ns) && ns == 90000000000);
	assert_true(vmop_parse_duration_ns("0.5s", &ns) && ns == 500000000);
	assert_true(vmop_parse_duration_ns("2h", &ns) && ns == 7200000000000);
	assert_false(vmop_parse_duration_ns("", &ns));
	assert_false(vmop_parse_duration_ns("-1s", &ns));
	assert_false(vmop_parse_duration_ns("1y", &ns));
	assert_false(vmop_parse_duration_ns("0x10", &ns));
	assert_false(vmop_parse_duration_ns("1e300", &ns));
}

static void sizes(void **state)
{
	(void)state;
	uint64_t bytes = 0;
	assert_true(vmop_parse_size_bytes("64K", &bytes) && bytes == 65536);
	assert_true(vmop_parse_size_bytes("3", &bytes) && bytes == 3);
	assert_false(vmop_parse_size_bytes("1Kx", &bytes));
	assert_false(vmop_parse_size_bytes("99999999999999T", &bytes));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers),
		cmocka_unit_test(durations),
		cmocka_unit_test(sizes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
