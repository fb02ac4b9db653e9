// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/time-counts.h"

#include <cmocka.h>

#include "libutil/cleanup.h"
#include "tests/unit/ok.h"

#define SECOND_NS UINT64_C(1000000000)
#define START_NS (1000 * SECOND_NS)

static void add(struct vmop_time_counts *counts, uint32_t key, size_t slot, uint64_t second,
		uint64_t len_s, uint64_t samples)
{
	const struct vmop_count count = {.samples = samples, .weight_events = 10 * samples};
	assert_ok(vmop_time_counts_add(counts, key, slot, START_NS + second * SECOND_NS,
				       len_s * SECOND_NS, count));
}

static void check(const struct vmop_time_counts *counts, size_t i, uint32_t key, uint16_t slot,
		  uint16_t span, uint64_t samples)
{
	assert_true(i < counts->n);
	assert_int_equal(counts->items[i].key, key);
	assert_int_equal(counts->items[i].slot, slot);
	assert_int_equal(counts->items[i].span, span);
	assert_int_equal(counts->items[i].count.samples, samples);
	assert_int_equal(counts->items[i].count.weight_events, 10 * samples);
}

/* Counts of one key, slot and span are one item, whatever comes between them. */
static void counts_add_up(void **state)
{
	(void)state;
	_cleanup_(vmop_time_counts_deinit) struct vmop_time_counts counts;
	vmop_time_counts_init(&counts, START_NS, START_NS + 10 * SECOND_NS, 2);
	assert_int_equal(counts.n_spans, 10);
	add(&counts, 7, 0, 1, 1, 3);
	add(&counts, 5, 0, 1, 1, 1);
	add(&counts, 7, 1, 1, 1, 9);
	add(&counts, 7, 0, 1, 1, 2);
	add(&counts, 7, 0, 3, 1, 4);
	add(&counts, 5, 0, 99, 1, 8); /* beyond the end */
	vmop_time_counts_sort(&counts);
	assert_int_equal(counts.n, 5);
	check(&counts, 0, 5, 0, 1, 1);
	check(&counts, 1, 5, 0, 9, 8);
	check(&counts, 2, 7, 0, 1, 5);
	check(&counts, 3, 7, 0, 3, 4);
	check(&counts, 4, 7, 1, 1, 9);
}

/* A copy with other keys adds up those that become one, and leaves the original as it is. */
static void keys_are_mapped(void **state)
{
	(void)state;
	static const uint32_t keys[] = {9, 2, 9, 1};
	_cleanup_(vmop_time_counts_deinit) struct vmop_time_counts counts, copy, same;
	vmop_time_counts_init(&counts, START_NS, START_NS + 10 * SECOND_NS, 2);
	add(&counts, 0, 0, 4, 1, 1);
	add(&counts, 1, 0, 4, 1, 2);
	add(&counts, 2, 0, 4, 1, 4);
	add(&counts, 2, 1, 4, 1, 8);
	add(&counts, 3, 0, 6, 1, 16);
	add(&counts, 0, 0, 5, 1, 32);
	assert_ok(vmop_time_counts_copy(&copy, &counts, keys));
	assert_int_equal(copy.n, 5);
	check(&copy, 0, 1, 0, 6, 16);
	check(&copy, 1, 2, 0, 4, 2);
	check(&copy, 2, 9, 0, 4, 5);
	check(&copy, 3, 9, 0, 5, 32);
	check(&copy, 4, 9, 1, 4, 8);
	assert_int_equal(copy.len_ns, counts.len_ns);
	assert_int_equal(copy.n_spans, counts.n_spans);
	assert_ok(vmop_time_counts_copy(&same, &counts, NULL));
	assert_int_equal(same.n, counts.n);
	check(&same, 0, 0, 0, 4, 1);
	check(&counts, 1, 1, 0, 4, 2);
}

/* A long interval makes all spans longer, up to two thirds of its length. */
static void spans_grow(void **state)
{
	(void)state;
	_cleanup_(vmop_time_counts_deinit) struct vmop_time_counts counts;
	vmop_time_counts_init(&counts, START_NS, START_NS + 10 * SECOND_NS, 1);
	add(&counts, 0, 0, 0, 1, 1);
	add(&counts, 0, 0, 1, 1, 2);
	add(&counts, 0, 0, 5, 1, 4);
	add(&counts, 0, 0, 4, 3, 8);
	assert_int_equal(counts.len_ns, 2 * SECOND_NS);
	assert_int_equal(counts.n_spans, 5);
	vmop_time_counts_sort(&counts);
	assert_int_equal(counts.n, 2);
	check(&counts, 0, 0, 0, 0, 3);
	check(&counts, 1, 0, 0, 2, 12);
}

static void a_long_session_has_few_spans(void **state)
{
	(void)state;
	_cleanup_(vmop_time_counts_deinit) struct vmop_time_counts counts;
	vmop_time_counts_init(&counts, 0, 86400 * SECOND_NS, 1);
	assert_in_range(counts.n_spans, VMOP_TIME_SPANS_MAX / 2, VMOP_TIME_SPANS_MAX);
	assert_true(counts.n_spans * counts.len_ns >= 86400 * SECOND_NS);
	vmop_time_counts_init(&counts, 5, 5, 1); /* empty */
	assert_int_equal(counts.n_spans, 1);
}

static void great_keys_are_left_out(void **state)
{
	(void)state;
	_cleanup_(vmop_time_counts_deinit) struct vmop_time_counts counts;
	vmop_time_counts_init(&counts, START_NS, START_NS + SECOND_NS, 256);
	add(&counts, VMOP_TIME_KEYS_MAX / 256, 0, 0, 1, 6);
	assert_int_equal(counts.n, 0);
	assert_int_equal(counts.left_out_samples, 6);
}

/* More items than the bound make the spans longer, and then nothing is lost. */
static void items_are_bounded(void **state)
{
	(void)state;
	_cleanup_(vmop_time_counts_deinit) struct vmop_time_counts counts;
	const uint32_t keys = VMOP_TIME_ITEMS_MAX / 4;
	uint64_t sum = 0;
	vmop_time_counts_init(&counts, START_NS, START_NS + 8 * SECOND_NS, 1);
	for (uint64_t second = 0; second < 8; second++)
		for (uint32_t key = 0; key < keys; key++)
			add(&counts, key, 0, second, 1, 1);
	assert_true(counts.n <= VMOP_TIME_ITEMS_MAX);
	assert_int_equal(counts.len_ns, 2 * SECOND_NS);
	for (size_t i = 0; i < counts.n; i++)
		sum += counts.items[i].count.samples;
	assert_int_equal(sum, UINT64_C(8) * keys);
	assert_int_equal(counts.left_out_samples, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(counts_add_up),
		cmocka_unit_test(keys_are_mapped),
		cmocka_unit_test(spans_grow),
		cmocka_unit_test(a_long_session_has_few_spans),
		cmocka_unit_test(great_keys_are_left_out),
		cmocka_unit_test(items_are_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
