// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/bpf/ranges.h"

enum { N = 1000, N_OWNERS = 64, ROUNDS = 20000 };

static void a_freed_range_rests_before_it_is_taken_again(void **state)
{
	(void)state;
	struct vmop_ranges ranges;
	uint32_t first, second;
	const uint64_t freed_ns = 5000;
	assert_true(vmop_ranges_init(&ranges, 10));
	assert_true(vmop_ranges_take(&ranges, 10, 0, &first));
	assert_int_equal(first, 0);
	assert_int_equal(ranges.used, 10);
	vmop_ranges_free(&ranges, 0, 10, freed_ns);
	assert_int_equal(ranges.used, 0);
	assert_false(vmop_ranges_take(&ranges, 1, freed_ns, &second));
	assert_false(vmop_ranges_take(&ranges, 1, freed_ns + VMOP_RANGES_GRACE_NS - 1, &second));
	assert_true(vmop_ranges_take(&ranges, 1, freed_ns + VMOP_RANGES_GRACE_NS, &second));
	vmop_ranges_deinit(&ranges);
}

static void neighbours_are_merged(void **state)
{
	(void)state;
	static const uint32_t orders[][3] = {{0, 1, 2}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}};
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		struct vmop_ranges ranges;
		uint32_t first;
		assert_true(vmop_ranges_init(&ranges, 30));
		for (uint32_t j = 0; j < 3; j++) {
			assert_true(vmop_ranges_take(&ranges, 10, 0, &first));
			assert_int_equal(first, 10 * j);
		}
		assert_false(vmop_ranges_take(&ranges, 1, 0, &first));
		for (size_t j = 0; j < 3; j++)
			vmop_ranges_free(&ranges, orders[i][j] * 10, 10, 0);
		assert_true(vmop_ranges_take(&ranges, 30, VMOP_RANGES_GRACE_NS, &first));
		assert_int_equal(first, 0);
		assert_int_equal(ranges.n_free, 0);
		vmop_ranges_deinit(&ranges);
	}
}

/* Many owners take and free ranges in any order: no slot has two owners, and none gets lost. */
static void no_slot_has_two_owners(void **state)
{
	(void)state;
	struct vmop_ranges ranges;
	static uint8_t owner_of[N]; /* 0: free */
	uint32_t firsts[N_OWNERS] = {0}, ns[N_OWNERS] = {0};
	uint64_t now_ns = 0;
	size_t n_taken = 0;
	srand(12);
	assert_true(vmop_ranges_init(&ranges, N));
	for (unsigned round = 0; round < ROUNDS; round++) {
		unsigned owner = (unsigned)rand() % N_OWNERS;
		now_ns += VMOP_RANGES_GRACE_NS / 16;
		if (ns[owner]) {
			memset(owner_of + firsts[owner], 0, ns[owner]);
			vmop_ranges_free(&ranges, firsts[owner], ns[owner], now_ns);
			ns[owner] = 0;
			continue;
		}
		uint32_t n = 1 + (uint32_t)rand() % 60;
		if (!vmop_ranges_take(&ranges, n, now_ns, &firsts[owner]))
			continue;
		n_taken++;
		ns[owner] = n;
		assert_true(firsts[owner] + n <= N);
		for (uint32_t i = 0; i < n; i++) {
			assert_int_equal(owner_of[firsts[owner] + i], 0);
			owner_of[firsts[owner] + i] = 1;
		}
	}
	assert_true(n_taken > ROUNDS / 10);
	for (unsigned i = 0; i < N_OWNERS; i++)
		vmop_ranges_free(&ranges, firsts[i], ns[i], now_ns);
	uint32_t first;
	assert_true(vmop_ranges_take(&ranges, N, now_ns + VMOP_RANGES_GRACE_NS, &first));
	vmop_ranges_deinit(&ranges);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_freed_range_rests_before_it_is_taken_again),
		cmocka_unit_test(neighbours_are_merged),
		cmocka_unit_test(no_slot_has_two_owners),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
