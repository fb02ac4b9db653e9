// SPDX-License-Identifier: GPL-2.0-or-later
/* Test --per: its words, and the numbers that it divides by. */
#include "opreport/compare/per.h"

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "tests/unit/ok.h"

static void words(void **state)
{
	(void)state;
	struct vmop_per per;
	assert_ok(vmop_per_parse("samples", &per));
	assert_int_equal(per.kind, VMOP_PER_SAMPLES);
	assert_ok(vmop_per_parse("time", &per));
	assert_int_equal(per.kind, VMOP_PER_TIME);
	assert_ok(vmop_per_parse("instructions:u", &per));
	assert_int_equal(per.kind, VMOP_PER_EVENT);
	assert_string_equal(per.event, "instructions:u");
	assert_ok(vmop_per_parse("1000000000000,2.5", &per));
	assert_int_equal(per.kind, VMOP_PER_UNITS);
	assert_int_equal(per.n_units, 2);
	assert_true(per.units[0] == 1e12 && per.units[1] == 2.5);
}

static void refused_words(void **state)
{
	(void)state;
	static const char *const bad[] = {"",
					  "0",
					  "-1",
					  "+",
					  "1,",
					  ",1",
					  "1,0",
					  "1 2",
					  "1e999",
					  "1x",
					  "1,nan",
					  "1,,2",
					  "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17"};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct vmop_per per;
		struct vmop_error *err = vmop_per_parse(bad[i], &per);
		if (!err)
			fail_msg("'%s' was accepted", bad[i]);
		assert_int_equal(err->code, VMOP_ERROR_USAGE);
		vmop_error_destroy(err);
	}
}

static bool is_near(double a, double b)
{
	return fabs(a - b) <= 1e-9 * fabs(b);
}

/* 30 of 100 samples, each of which stands for three times as many events as the mean of all. */
static void numbers_are_of_weights_and_limits_of_samples(void **state)
{
	(void)state;
	struct vmop_measure measure = {.row = {30, 90000}, .all = {100, 100000}, .exposure = 20};
	struct vmop_interval got = vmop_per_estimate(VMOP_PER_SAMPLES, &measure);
	struct vmop_interval share = vmop_interval_of_share(30, 100);
	assert_true(is_near(got.value, 90) && is_near(got.low, 300 * share.low));
	assert_true(got.high == 100); /* no more than all */

	got = vmop_per_estimate(VMOP_PER_TIME, &measure);
	struct vmop_interval count = vmop_interval_of_count(30);
	assert_true(is_near(got.value, 4500) && is_near(got.low, count.low * 150) &&
		    is_near(got.high, count.high * 150));

	measure.work = (struct vmop_count){400, 8000000};
	got = vmop_per_estimate(VMOP_PER_EVENT, &measure);
	struct vmop_interval quotient = vmop_interval_of_quotient(30, 400);
	assert_true(is_near(got.value, 90000 / 8e6) &&
		    is_near(got.low, quotient.low * 3000 / 20000));
	measure.is_work = true; /* a share of itself */
	got = vmop_per_estimate(VMOP_PER_EVENT, &measure);
	assert_true(is_near(got.value, 0.9) && is_near(got.low, 3 * share.low));
}

static void nothing_has_a_bound(void **state)
{
	(void)state;
	struct vmop_measure measure = {.all = {1000, 2000000}, .exposure = 10};
	struct vmop_interval got = vmop_per_estimate(VMOP_PER_TIME, &measure);
	assert_true(got.is_known && got.value == 0 && got.low == 0);
	assert_true(is_near(got.high, vmop_interval_of_count(0).high * 2000 / 10));
	got = vmop_per_estimate(VMOP_PER_SAMPLES, &measure);
	assert_true(got.value == 0 && got.high > 0 && got.high < 1);
	measure.exposure = 0; /* a session of one moment */
	assert_false(vmop_per_estimate(VMOP_PER_TIME, &measure).is_known);
	measure.all = (struct vmop_count){0};
	assert_false(vmop_per_estimate(VMOP_PER_SAMPLES, &measure).is_known);
	assert_false(vmop_per_estimate(VMOP_PER_EVENT, &measure).is_known);
}

static void an_event_without_weights_counts_samples(void **state)
{
	(void)state;
	struct vmop_measure measure = {.row = {5, 0}, .all = {10, 0}, .exposure = 1};
	assert_true(vmop_per_estimate(VMOP_PER_SAMPLES, &measure).value == 50);
	assert_true(vmop_per_estimate(VMOP_PER_UNITS, &measure).value == 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(words),
		cmocka_unit_test(refused_words),
		cmocka_unit_test(numbers_are_of_weights_and_limits_of_samples),
		cmocka_unit_test(nothing_has_a_bound),
		cmocka_unit_test(an_event_without_weights_counts_samples),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
