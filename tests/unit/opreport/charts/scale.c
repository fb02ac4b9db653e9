// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/charts/scale.h"

#include <cmocka.h>
#include <math.h>

#include "libutil/parse.h"

#define SECOND UINT64_C(1000000000)

static void assert_number(double value, const char *expected)
{
	char text[VMOP_SCALE_TEXT_BYTES];
	vmop_scale_number(value, text);
	assert_string_equal(text, expected);
}

static void numbers_are_short(void **state)
{
	(void)state;
	assert_number(0, "0");
	assert_number(0.125, "0.125");
	assert_number(12.54, "12.5");
	assert_number(99.97, "100");
	assert_number(1234, "1234");
	assert_number(9999.6, "10k");
	assert_number(12345, "12.3k");
	assert_number(1e12, "1T");
	assert_number(18446744073709551615., "18.4E");
}

static void steps_are_round(void **state)
{
	(void)state;
	assert_true(fabs(vmop_scale_step(100, 10) - 10) < 1e-9);
	assert_true(fabs(vmop_scale_step(61.5, 6) - 20) < 1e-9);
	assert_true(fabs(vmop_scale_step(0.07, 5) - 0.02) < 1e-12);
	assert_true(vmop_scale_step(0, 5) == 1);
	for (double max = 1e-9; max < 1e18; max *= 1.7) {
		for (unsigned n = 1; n < 12; n++)
			assert_true(max / vmop_scale_step(max, n) <= n * (1 + 1e-6));
	}
}

static void steps_of_time_are_multiples_of_their_unit(void **state)
{
	(void)state;
	assert_int_equal(vmop_scale_time_step(SECOND, 0), SECOND);
	assert_int_equal(vmop_scale_time_step(SECOND * 3, 0), 5 * SECOND);
	assert_int_equal(vmop_scale_time_step(SECOND * 61, 60 * SECOND), 120 * SECOND);
	assert_int_equal(vmop_scale_time_step(SECOND * 11, 10 * SECOND), 30 * SECOND);
	assert_true(vmop_scale_time_step(UINT64_MAX / 4, SECOND) >= UINT64_MAX / 4);
}

/* Return the text after a parser of specs has read it. */
static void assert_time(uint64_t span_ns, const char *expected)
{
	char text[VMOP_SCALE_TEXT_BYTES];
	uint64_t read_ns = 1;
	vmop_scale_time(span_ns, text);
	assert_string_equal(text, expected);
	assert_true(vmop_parse_duration_ns(text, &read_ns));
	assert_int_equal(read_ns, span_ns);
}

static void times_can_be_given_to_specs(void **state)
{
	(void)state;
	assert_time(0, "0s");
	assert_time(SECOND / 10, "0.1s");
	assert_time(90 * SECOND, "90s");
	assert_time(600 * SECOND, "10m");
	assert_time(7200 * SECOND, "2h");
	assert_time(3 * 86400 * SECOND, "3d");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_short),
		cmocka_unit_test(steps_are_round),
		cmocka_unit_test(steps_of_time_are_multiples_of_their_unit),
		cmocka_unit_test(times_can_be_given_to_specs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
