// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/output/value-text.h"

#include <cmocka.h>
#include <string.h>

static void check(enum vmop_value_type type, struct vmop_value value, int percent_digits,
		  const char *expected)
{
	char text[VMOP_NUMBER_TEXT_BYTES];
	memset(text, 'x', sizeof(text));
	vmop_value_format(type, &value, percent_digits, text);
	assert_string_equal(text, expected);
}

static void counts_and_addresses(void **state)
{
	(void)state;
	check(VMOP_VALUE_COUNT, (struct vmop_value){.number = 0}, 2, "0");
	check(VMOP_VALUE_COUNT, (struct vmop_value){.number = UINT64_MAX}, 2,
	      "18446744073709551615");
	check(VMOP_VALUE_ADDRESS, (struct vmop_value){.number = 0x1234}, 2, "00001234");
	check(VMOP_VALUE_ADDRESS, (struct vmop_value){.number = UINT64_MAX}, 2, "ffffffffffffffff");
	check(VMOP_VALUE_TEXT, (struct vmop_value){.text = "text"}, 2, "");
}

static void percents(void **state)
{
	(void)state;
	check(VMOP_VALUE_PERCENT, (struct vmop_value){.percent = 61.789}, 2, "61.79");
	check(VMOP_VALUE_PERCENT, (struct vmop_value){.percent = 61.789}, 1, "61.8");
	check(VMOP_VALUE_PERCENT, (struct vmop_value){.percent = 0}, 1, "0.0");
}

static void check_ratio(double ratio, char mark, const char *expected)
{
	check(VMOP_VALUE_RATIO, (struct vmop_value){.ratio = ratio, .mark = mark}, 2, expected);
}

static void ratios_have_three_digits(void **state)
{
	(void)state;
	check_ratio(0, VMOP_MARK_NONE, "0.00");
	check_ratio(0.00012345, VMOP_MARK_NONE, "1.23e-04");
	check_ratio(0.0123456, VMOP_MARK_NONE, "0.0123");
	check_ratio(0.123456, VMOP_MARK_ROUGH, "~0.12");
	check_ratio(1.23456, VMOP_MARK_NONE, "1.23");
	check_ratio(12.3456, VMOP_MARK_BELOW, "<12.3");
	check_ratio(123456.7, VMOP_MARK_NONE, "123457");
	check_ratio(1.5e9, VMOP_MARK_NONE, "1.50e+09");
	check_ratio(5, VMOP_MARK_UNKNOWN, "-");
	check_ratio(1.7e308, VMOP_MARK_ROUGH, "~1.70e+308");
}

static void numbers_are_at_the_right(void **state)
{
	(void)state;
	assert_true(vmop_value_is_right(VMOP_VALUE_COUNT));
	assert_true(vmop_value_is_right(VMOP_VALUE_PERCENT));
	assert_true(vmop_value_is_right(VMOP_VALUE_RATIO));
	assert_false(vmop_value_is_right(VMOP_VALUE_TEXT));
	assert_false(vmop_value_is_right(VMOP_VALUE_ADDRESS));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_and_addresses),
		cmocka_unit_test(percents),
		cmocka_unit_test(ratios_have_three_digits),
		cmocka_unit_test(numbers_are_at_the_right),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
