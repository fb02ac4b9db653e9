// SPDX-License-Identifier: GPL-2.0-or-later
/* Test the numbers of a comparison's table. */
#include "opreport/compare/figure.h"

#include <cmocka.h>
#include <math.h>

static void figures(void **state)
{
	(void)state;
	static const struct {
		double number;
		const char *plain, *with_sign;
	} cases[] = {
		{0, "0.00", "0.00"},
		{1.5, "1.50", "+1.50"},
		{-1.5, "-1.50", "-1.50"},
		{0.0523, "0.052", "+0.052"},
		{0.00123, "0.00123", "+0.00123"},
		{99.94, "99.94", "+99.94"},
		{123.46, "123.5", "+123.5"},
		{999.4, "999.4", "+999.4"},
		{999.6, "1.00k", "+1.00k"},
		{1e12, "1.00T", "+1.00T"},
		{-2.5e9, "-2.50G", "-2.50G"},
		{1e300, "1.00e+300", "+1.00e+300"},
		{1e-9, "1.00e-09", "+1.00e-09"},
		{INFINITY, "inf", "+inf"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char text[VMOP_FIGURE_BYTES];
		vmop_figure(cases[i].number, false, text, sizeof(text));
		assert_string_equal(text, cases[i].plain);
		vmop_figure(cases[i].number, true, text, sizeof(text));
		assert_string_equal(text, cases[i].with_sign);
	}
}

static void intervals(void **state)
{
	(void)state;
	char text[VMOP_FIGURE_BYTES];
	vmop_figure_interval((struct vmop_interval){true, 16.7, 14.9, 18.5}, true, true, text);
	assert_string_equal(text, "+16.70 +14.90..+18.50");
	vmop_figure_interval((struct vmop_interval){true, 1.5, 1.44, 1.57}, false, false, text);
	assert_string_equal(text, "1.50 1.44..1.57");
	vmop_figure_interval((struct vmop_interval){true, INFINITY, 12.3, INFINITY}, false, false,
			     text);
	assert_string_equal(text, ">12.30");
	vmop_figure_interval((struct vmop_interval){0}, true, true, text);
	assert_string_equal(text, "-");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(figures),
		cmocka_unit_test(intervals),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
