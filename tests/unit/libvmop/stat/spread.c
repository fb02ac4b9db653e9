// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/spread.h"

#include <cmocka.h>
#include <math.h>

static void near(double value, double wanted, double within)
{
	if (!(fabs(value - wanted) <= within))
		fail_msg("%f, not %f", value, wanted);
}

/* Factors of tables of Student's t, two-sided 99 %. */
static void factors_of_student(void **state)
{
	(void)state;
	const struct {
		size_t freedom;
		double factor;
	} table[] = {{1, 63.657}, {4, 4.604},  {9, 3.250},  {10, 3.169},  {11, 3.106},
		     {15, 2.947}, {20, 2.845}, {30, 2.750}, {100, 2.626}, {1000, 2.581}};
	for (size_t i = 0; i < sizeof(table) / sizeof(*table); i++)
		near(vmop_student_99(table[i].freedom), table[i].factor, 0.004);
}

static void mean_and_interval(void **state)
{
	(void)state;
	struct vmop_spread spread = {0};
	near(vmop_spread_half_width(&spread), 0, 0);
	const double values[] = {9, 10, 11, 10, 10};
	for (size_t i = 0; i < 5; i++)
		vmop_spread_add(&spread, values[i]);
	near(spread.mean, 10, 1e-12);
	/* Standard deviation sqrt(1/2), of the mean sqrt(1/10). */
	near(vmop_spread_half_width(&spread), 4.604 * sqrt(0.1), 1e-3);
	near(vmop_spread_percent(&spread), 46.04 * sqrt(0.1), 1e-2);
}

static void large_values_keep_their_spread(void **state)
{
	(void)state;
	struct vmop_spread spread = {0};
	for (unsigned i = 0; i < 100; i++)
		vmop_spread_add(&spread, 1e15 + (i % 2 ? 1 : -1));
	near(spread.squares, 100, 0.5);
	struct vmop_spread zero = {0};
	vmop_spread_add(&zero, 0);
	vmop_spread_add(&zero, 0);
	near(vmop_spread_percent(&zero), 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(factors_of_student),
		cmocka_unit_test(mean_and_interval),
		cmocka_unit_test(large_values_keep_their_spread),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
