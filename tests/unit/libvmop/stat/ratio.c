// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/ratio.h"

#include <cmocka.h>
#include <math.h>
#include <string.h>

static void is_ratio(const struct vmop_ratio_input *counts, size_t n, size_t i, double wanted,
		     const char *unit)
{
	double ratio;
	const char *got;
	assert_true(vmop_ratio_of(counts, n, i, 2, &ratio, &got));
	assert_string_equal(got, unit);
	if (fabs(ratio - wanted) > 1e-9)
		fail_msg("%s: %f, not %f", counts[i].name, ratio, wanted);
}

static void ratios_of_counts(void **state)
{
	(void)state;
	const struct vmop_ratio_input counts[] = {
		{"task-clock", 1e9, true, true},     {"cycles", 4e9, false, true},
		{"instructions", 6e9, false, true},  {"branches", 1e8, false, true},
		{"branch-misses", 3e6, false, true}, {"page-faults", 500, false, true},
		{"cache-misses", 10, false, true},   {"instructions:u", 5e9, false, true},
	};
	const size_t n = sizeof(counts) / sizeof(*counts);
	is_ratio(counts, n, 0, 0.5, "CPUs utilized");
	is_ratio(counts, n, 1, 4e9, "/sec");
	is_ratio(counts, n, 2, 1.5, "insn per cycle");
	is_ratio(counts, n, 4, 3, "% of branches");
	is_ratio(counts, n, 5, 500, "/sec");
	/* Nothing to compare with: no cache-references; no cycles of the user's mode only. */
	is_ratio(counts, n, 6, 10, "/sec");
	is_ratio(counts, n, 7, 5e9, "/sec");
}

static void no_ratio_of_what_is_not_counted(void **state)
{
	(void)state;
	const struct vmop_ratio_input counts[] = {{"cycles", 0, false, false},
						  {"instructions", 5, false, true},
						  {"task-clock", 0, true, false}};
	double ratio = 7;
	const char *unit = NULL;
	for (size_t i = 0; i < 3; i++)
		assert_false(vmop_ratio_of(counts, 3, i, 2, &ratio, &unit));
	assert_true(ratio == 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(ratios_of_counts),
		cmocka_unit_test(no_ratio_of_what_is_not_counted),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
