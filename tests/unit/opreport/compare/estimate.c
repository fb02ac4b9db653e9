// SPDX-License-Identifier: GPL-2.0-or-later
/* Test the intervals of a comparison against values of other programs, and on random streams. */
#include "opreport/compare/estimate.h"

#include <cmocka.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>

static bool is_near(double a, double b)
{
	return a == b || fabs(a - b) <= 1e-8 * fmax(fabs(a), fabs(b));
}

static void check(const char *what, double a, double b, struct vmop_interval got, double low,
		  double high)
{
	if (!got.is_known || !is_near(got.low, low) || !is_near(got.high, high))
		fail_msg("%s of %g and %g: %.10g to %.10g, not %.10g to %.10g", what, a, b, got.low,
			 got.high, low, high);
}

/* By proportion_confint(x, n, alpha=.01, method='wilson') of Python's statsmodels 0.13.5. */
static void shares(void **state)
{
	(void)state;
	static const struct {
		double x, n, low, high;
	} cases[] = {
		{20, 30, 0.4336088112, 0.8393549727},
		{0, 50, 0, 0.1171520917},
		{50, 50, 0.8828479083, 1},
		{1, 1000, 0.0001174163536, 0.00846056622},
		{700, 2000, 0.323064785, 0.3779271587},
		{123456, 1000000, 0.1226111529, 0.1243058437},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check("share", cases[i].x, cases[i].n,
		      vmop_interval_of_share(cases[i].x, cases[i].n), cases[i].low, cases[i].high);
	assert_false(vmop_interval_of_share(0, 0).is_known);
}

/* The roots of (x - mean)^2 = z^2 * mean, found by brentq of Python's scipy 1.10.1. */
static void counts(void **state)
{
	(void)state;
	static const struct {
		double x, low, high;
	} cases[] = {
		{0, 0, 6.634896601},
		{1, 0.1174054641, 8.517491137},
		{7, 2.737887665, 17.89700894},
		{100, 77.34640436, 129.2884922},
		{12345, 12062.10284, 12634.53206},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		check("count", cases[i].x, 0, vmop_interval_of_count(cases[i].x), cases[i].low,
		      cases[i].high);
}

/* Odds of the limits of statsmodels' proportion_confint(a, a + b, alpha=.01, method='wilson'). */
static void quotients(void **state)
{
	(void)state;
	check("quotient", 20, 10, vmop_interval_of_quotient(20, 10), 0.7655641892, 5.224904791);
	check("quotient", 0, 10, vmop_interval_of_quotient(0, 10), 0, 0.6634896601);
	check("quotient", 400, 100, vmop_interval_of_quotient(400, 100), 3.002045547, 5.329699283);
	assert_false(vmop_interval_of_quotient(3, 0).is_known);
}

/* By statsmodels' confint_proportions_2indep(..., method='newcomb', compare='diff', alpha=.01). */
static void differences(void **state)
{
	(void)state;
	static const struct {
		double before, of_before, after, of_after, low, high;
	} cases[] = {
		{48, 80, 56, 70, 0.00537086925, 0.3718084318},
		{10, 100, 20, 100, -0.03276621142, 0.2317379632},
		{0, 50, 5, 50, -0.03446864325, 0.2597307896},
		{500, 10000, 600, 9000, 0.007906516964, 0.02553725941},
		{3, 1000, 0, 1000, -0.01179351668, 0.003962008681},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct vmop_interval before =
			vmop_interval_of_share(cases[i].before, cases[i].of_before);
		struct vmop_interval after =
			vmop_interval_of_share(cases[i].after, cases[i].of_after);
		check("difference", cases[i].before, cases[i].after,
		      vmop_interval_difference(before, after), cases[i].low, cases[i].high);
	}
	assert_false(vmop_interval_difference((struct vmop_interval){0}, vmop_interval_of_count(1))
			     .is_known);
}

/* The ratios at which the difference's limits are 0, found by scipy's brentq with statsmodels. */
static void ratios(void **state)
{
	(void)state;
	static const struct {
		double before, of_before, after, of_after, low, high;
	} cases[] = {
		{48, 80, 56, 70, 1.007845946, 1.789203397},
		{10, 100, 20, 100, 0.8157209786, 4.909753581},
		{5, 50, 0, 50, 0, 1.559562738},
		{500, 10000, 600, 9000, 1.1460195, 1.55104599},
		{0, 1000, 30, 1000, 4.228913668, INFINITY},
		{1, 1000, 2, 1000, 0.1281193041, 28.18032815},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct vmop_interval before =
			vmop_interval_of_share(cases[i].before, cases[i].of_before);
		struct vmop_interval after =
			vmop_interval_of_share(cases[i].after, cases[i].of_after);
		struct vmop_interval got = vmop_interval_ratio(before, after);
		check("ratio", cases[i].before, cases[i].after, got, cases[i].low, cases[i].high);
		assert_int_equal(isinf(got.value) != 0, cases[i].before == 0);
	}
	struct vmop_interval zero = vmop_interval_of_share(0, 10);
	assert_false(vmop_interval_ratio(zero, zero).is_known);
}

static void a_factor_scales_all(void **state)
{
	(void)state;
	struct vmop_interval one = vmop_interval_of_count(9), two = vmop_interval_scale(one, 2);
	assert_true(two.is_known && two.value == 18 && is_near(two.low, 2 * one.low) &&
		    is_near(two.high, 2 * one.high));
}

/* The word "noise" is of both: see the header. */
static void ratio_and_difference_agree(void **state)
{
	(void)state;
	for (unsigned x = 0; x < 60; x++) {
		for (unsigned y = 0; y < 60; y++) {
			struct vmop_interval before = vmop_interval_of_share(x, 100);
			struct vmop_interval after = vmop_interval_of_share(y, 150);
			struct vmop_interval ratio = vmop_interval_ratio(before, after);
			if (ratio.is_known)
				assert_int_equal(
					vmop_interval_holds(ratio, 1),
					vmop_interval_holds(vmop_interval_difference(before, after),
							    0));
		}
	}
}

/* ---- random streams ----------------------------------------------------------------- */

/* Return a number in [0, 1), by splitmix64 (Steele, Lea, Flood, 2014). */
static double random_unit(uint64_t *state)
{
	uint64_t x = *state += UINT64_C(0x9e3779b97f4a7c15);
	x = (x ^ x >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ x >> 27) * UINT64_C(0x94d049bb133111eb);
	return (double)((x ^ x >> 31) >> 11) / 0x1p53;
}

enum { ROWS = 300 };

/* Draw n samples; row i has a share that descends as 1 / (i + 1), but row 0's is times `factor`. */
static void draw(uint64_t *state, unsigned n, double factor, unsigned counts_of[ROWS])
{
	double ends[ROWS], sum = 0;
	for (unsigned i = 0; i < ROWS; i++) {
		sum += (i ? 1 : factor) / (i + 1);
		ends[i] = sum;
		counts_of[i] = 0;
	}
	for (unsigned sample = 0; sample < n; sample++) {
		double at = random_unit(state) * sum;
		unsigned row = 0;
		while (row < ROWS - 1 && ends[row] <= at)
			row++;
		counts_of[row]++;
	}
}

/*
 * Two recordings of the same distribution: about 1 % of the rows seem to differ.  Rows with few
 * samples seem to less often.
 */
static void equal_streams_are_noise(void **state)
{
	(void)state;
	uint64_t seed = 1;
	unsigned rows = 0, shares_differ = 0, rates_differ = 0;
	static unsigned a[ROWS], b[ROWS];
	for (unsigned trial = 0; trial < 100; trial++) {
		draw(&seed, 4000, 1, a);
		draw(&seed, 12000, 1, b);
		for (unsigned i = 0; i < ROWS; i++) {
			struct vmop_interval share =
				vmop_interval_difference(vmop_interval_of_share(a[i], 4000),
							 vmop_interval_of_share(b[i], 12000));
			struct vmop_interval rate = vmop_interval_difference(
				vmop_interval_of_count(a[i]),
				vmop_interval_scale(vmop_interval_of_count(b[i]), 1.0 / 3));
			rows++;
			shares_differ += !vmop_interval_holds(share, 0);
			rates_differ += !vmop_interval_holds(rate, 0);
		}
	}
	print_message("%u rows: %u shares and %u rates seem to differ\n", rows, shares_differ,
		      rates_differ);
	assert_true(shares_differ > 0 && shares_differ < rows / 80);
	assert_true(rates_differ > 0 && rates_differ < rows / 80);
}

/* The true difference lies outside about 1 % of the intervals, and noise is seldom. */
static void a_difference_is_found(void **state)
{
	(void)state;
	uint64_t seed = 2;
	unsigned wrong = 0, wrong_ratio = 0, noise = 0, trials = 1000;
	static unsigned a[ROWS], b[ROWS];
	double sum = 0;
	for (unsigned i = 0; i < ROWS; i++)
		sum += 1.0 / (i + 1);
	double before = 1 / sum, after = 1.5 / (sum + 0.5);
	for (unsigned trial = 0; trial < trials; trial++) {
		draw(&seed, 2000, 1, a);
		draw(&seed, 2000, 1.5, b);
		struct vmop_interval x = vmop_interval_of_share(a[0], 2000);
		struct vmop_interval y = vmop_interval_of_share(b[0], 2000);
		struct vmop_interval difference = vmop_interval_difference(x, y);
		wrong += !vmop_interval_holds(difference, after - before);
		wrong_ratio += !vmop_interval_holds(vmop_interval_ratio(x, y), after / before);
		noise += vmop_interval_holds(difference, 0);
	}
	print_message("of %u: %u differences and %u ratios outside, %u noise\n", trials, wrong,
		      wrong_ratio, noise);
	assert_true(wrong < trials / 50 && wrong_ratio < trials / 50);
	assert_true(noise < trials / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(shares),
		cmocka_unit_test(counts),
		cmocka_unit_test(quotients),
		cmocka_unit_test(differences),
		cmocka_unit_test(ratios),
		cmocka_unit_test(a_factor_scales_all),
		cmocka_unit_test(ratio_and_difference_agree),
		cmocka_unit_test(equal_streams_are_noise),
		cmocka_unit_test(a_difference_is_found),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
