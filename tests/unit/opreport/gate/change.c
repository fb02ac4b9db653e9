// SPDX-License-Identifier: GPL-2.0-or-later
/* Test that equal random streams seldom seem to differ, and that real changes are found. */
#include "opreport/gate/change.h"

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "opreport/gate/exact-test.h"
#include "tests/unit/ok.h"

enum { ROWS_MAX = 300 };

static struct vmop_shares_event clock_event = {.name = "cpu-clock", .unit = "ns", .asked = ""};
static const struct vmop_shares like = {
	.dimensions = VMOP_BY_DOMAIN | VMOP_BY_SYMBOL, .events = &clock_event, .n_events = 1};

/* Make shares of n rows; row i has samples[i] of a weight. */
static void make(struct vmop_shares *ret, const uint64_t *samples, size_t n, uint64_t weight)
{
	assert_ok(vmop_shares_init_like(ret, &like));
	for (size_t i = 0; i < n; i++) {
		char symbol[32];
		const char *names[VMOP_N_COMPARED_NAMES] = {
			[VMOP_COMPARED_DOMAIN] = "host", [VMOP_COMPARED_SYMBOL] = symbol};
		struct vmop_shares_row *row;
		snprintf(symbol, sizeof(symbol), "f%zu", i);
		if (!samples[i])
			continue;
		assert_ok(vmop_shares_add(ret, names, &row));
		row->counts[0] = (struct vmop_count){samples[i], samples[i] * weight};
		vmop_count_add(&ret->events[0].all, samples[i], samples[i] * weight);
	}
	vmop_shares_merge(ret);
}

/* Return how many rows changed; *ret_compared may be NULL. */
static size_t n_changes(const uint64_t *before, const uint64_t *after, size_t n,
			struct vmop_change_bound bound, size_t *ret_compared)
{
	struct vmop_shares baseline, now;
	struct vmop_changes changes;
	make(&baseline, before, n, 1000);
	make(&now, after, n, 250); /* shares do not depend on the period */
	assert_ok(vmop_changes_init(&changes, &baseline, &now, &bound));
	size_t ret = changes.n;
	if (ret_compared)
		*ret_compared = changes.n_compared;
	vmop_changes_deinit(&changes);
	vmop_shares_deinit(&now);
	vmop_shares_deinit(&baseline);
	return ret;
}

static double next_random(uint64_t *random)
{
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	return (double)(*random >> 11) / 0x1p53;
}

/* Take samples of n rows, whose shares fall like 1/rank. */
static void sample(uint64_t *random, size_t n_rows, size_t n_samples, uint64_t *ret)
{
	double sums[ROWS_MAX], sum = 0;
	for (size_t i = 0; i < n_rows; i++) {
		sum += 1.0 / (double)(i + 1);
		sums[i] = sum;
		ret[i] = 0;
	}
	for (size_t s = 0; s < n_samples; s++) {
		double at = next_random(random) * sum;
		size_t low = 0, high = n_rows - 1;
		while (low < high) {
			size_t middle = (low + high) / 2;
			if (sums[middle] > at)
				high = middle;
			else
				low = middle + 1;
		}
		ret[low]++;
	}
}

/* Whole comparisons of equal streams, of few and many rows and samples, with no other bound. */
static void equal_streams_do_not_differ(void **state)
{
	(void)state;
	static const size_t rows[] = {1, 2, 10, 100, ROWS_MAX};
	static const size_t samples[] = {50, 1000, 8000};
	uint64_t random = 42, before[ROWS_MAX], after[ROWS_MAX];
	size_t n_failed = 0, n_all = 0;
	for (int round = 0; round < 3000; round++) {
		size_t n = rows[round % 5], n_before = samples[round / 5 % 3],
		       n_after = samples[round / 15 % 3];
		sample(&random, n, n_before, before);
		sample(&random, n, n_after, after);
		n_failed += n_changes(before, after, n, (struct vmop_change_bound){0}, NULL) > 0;
		n_all++;
	}
	print_message("%zu of %zu comparisons of equal streams failed\n", n_failed, n_all);
	assert_true(n_failed * 100 <= n_all);
}

static void changes_are_found(void **state)
{
	(void)state;
	const uint64_t before[] = {6000, 3000, 900, 100, 0};
	const uint64_t after[] = {6000, 2000, 1700, 100, 200};
	size_t n_compared;
	assert_int_equal(n_changes(before, after, 5, (struct vmop_change_bound){0}, &n_compared),
			 3);
	assert_int_equal(n_compared, 5);
	/* A bound in points, in percent of the former share, and both; a new row has no former. */
	assert_int_equal(n_changes(before, after, 5, (struct vmop_change_bound){5, 0}, NULL), 2);
	assert_int_equal(n_changes(before, after, 5, (struct vmop_change_bound){0, 50}, NULL), 2);
	assert_int_equal(n_changes(before, after, 5, (struct vmop_change_bound){5, 50}, NULL), 1);
	/* The same shares of few samples are chance. */
	const uint64_t few_before[] = {60, 30, 9, 1, 0}, few_after[] = {60, 20, 17, 1, 2};
	assert_int_equal(
		n_changes(few_before, few_after, 5, (struct vmop_change_bound){5, 50}, NULL), 0);
	/* Sides without samples are not compared. */
	const uint64_t none[5] = {0};
	assert_int_equal(n_changes(none, after, 5, (struct vmop_change_bound){0}, &n_compared), 0);
	assert_int_equal(n_compared, 0);
}

/* Values by the formulas. */
static void exact_tests(void **state)
{
	(void)state;
	/* 10 of 10 against 1 of 10: C(10, 1) / C(20, 11) on either side */
	assert_true(vmop_exact_test_differ(10, 10, 1, 10, 0.00013));
	assert_false(vmop_exact_test_differ(10, 10, 1, 10, 0.00011));
	assert_true(vmop_exact_test_differ(1, 10, 10, 10, 0.00013));
	assert_false(vmop_exact_test_differ(1, 10, 10, 10, 0.00011));
	assert_false(vmop_exact_test_differ(5, 10, 50, 100, 0.99));
	assert_false(vmop_exact_test_differ(0, 10, 0, 100, 0.99));
	/* k of many against 0 of as many is 2^-k on one side. */
	assert_true(vmop_exact_test_differ(20, 1u << 30, 0, 1u << 30, 2.01 / (1 << 20)));
	assert_false(vmop_exact_test_differ(20, 1u << 30, 0, 1u << 30, 1.99 / (1 << 20)));
	/* Numbers of a month: 10.01 % and 10 % of 10^11 differ, 10^-5 % more do not. */
	assert_true(
		vmop_exact_test_differ(10010000000, 100000000000, 10000000000, 100000000000, 1e-6));
	assert_false(
		vmop_exact_test_differ(10000010000, 100000000000, 10000000000, 100000000000, 1e-6));
	/* Damage. */
	assert_false(vmop_exact_test_differ(11, 10, 1, 10, 0.99));
	assert_false(vmop_exact_test_differ(UINT64_MAX, UINT64_MAX, 1, 10, 0.99));
}

static void quantiles(void **state)
{
	(void)state;
	assert_true(fabs(vmop_interval_z(0.01) - 2.5758293035489004) < 1e-9);
	assert_true(fabs(vmop_interval_z(0.05) - 1.959963984540054) < 1e-9);
	assert_true(fabs(vmop_interval_z(1e-9) - 6.109410204869) < 1e-6);
	struct vmop_interval a = vmop_interval_of_share(10, 100);
	struct vmop_interval b = vmop_interval_of_share_within(10, 100, vmop_interval_z(0.01));
	assert_true(fabs(a.low - b.low) < 1e-9 && fabs(a.high - b.high) < 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(equal_streams_do_not_differ),
		cmocka_unit_test(changes_are_found),
		cmocka_unit_test(exact_tests),
		cmocka_unit_test(quantiles),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
