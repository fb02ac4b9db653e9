// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/run-memo.h"

#include <cmocka.h>

#include "libutil/cleanup.h"

/* Runs of 100 bytes, from 0 on, each with the cell of its group and number. */
static struct vmop_run run_at(uint32_t group, uint64_t number)
{
	return (struct vmop_run){.start = number * 100,
				 .end = number * 100 + 100,
				 .group = group,
				 .cell = (uint32_t)number * 10 + group};
}

static void runs_are_found_by_group_and_offset(void **state)
{
	(void)state;
	_cleanup_(vmop_run_memo_deinit) struct vmop_run_memo memo = {0};
	assert_null(vmop_run_memo_find(&memo, 1, 0));
	/* A run over several blocks is stored in the one where it was looked up. */
	const struct vmop_run wide = {.start = 1u << 20, .end = 1u << 21, .group = 3, .cell = 7};
	vmop_run_memo_put(&memo, wide.start, &wide);
	for (uint32_t group = 1; group < 3; group++) {
		for (uint64_t i = 0; i < 200; i += 2) {
			struct vmop_run run = run_at(group, i);
			vmop_run_memo_put(&memo, run.start + 50, &run);
		}
	}
	for (uint32_t group = 1; group < 3; group++) {
		for (uint64_t i = 0; i < 200; i++) {
			const struct vmop_run *run = vmop_run_memo_find(&memo, group, i * 100 + 50);
			assert_int_equal(run != NULL, i % 2 == 0);
			if (run)
				assert_int_equal(run->cell, i * 10 + group);
		}
	}
	assert_int_equal(vmop_run_memo_find(&memo, 3, wide.start + 10)->cell, 7);
	assert_null(vmop_run_memo_find(&memo, 3, wide.end));
	assert_null(vmop_run_memo_find(&memo, 3, wide.start - 1));
}

/* Beyond the bound, runs are forgotten, and no run is found in another's place. */
static void memory_is_bounded(void **state)
{
	(void)state;
	_cleanup_(vmop_run_memo_deinit) struct vmop_run_memo memo = {0};
	const uint64_t n = 3 * VMOP_RUN_MEMO_MAX_RUNS;
	size_t n_found = 0;
	for (uint64_t i = 0; i < n; i++) {
		struct vmop_run run = run_at(1, i);
		vmop_run_memo_put(&memo, run.start, &run);
		assert_int_equal(vmop_run_memo_find(&memo, 1, run.end - 1)
					 ? vmop_run_memo_find(&memo, 1, run.end - 1)->start
					 : run.start,
				 run.start);
	}
	for (uint64_t i = 0; i < n; i++) {
		const struct vmop_run *run = vmop_run_memo_find(&memo, 1, i * 100);
		n_found += run != NULL;
		if (run)
			assert_int_equal(run->start, i * 100);
	}
	assert_in_range(n_found, 1, VMOP_RUN_MEMO_MAX_RUNS);
	assert_true(memo.capacity <= VMOP_RUN_MEMO_MAX_RUNS);
}

/* Many runs in one block do not make look-ups slow: the last ones are found. */
static void crowded_blocks_are_searched_for_a_while(void **state)
{
	(void)state;
	_cleanup_(vmop_run_memo_deinit) struct vmop_run_memo memo = {0};
	size_t n_found = 0;
	for (uint32_t i = 0; i < VMOP_RUN_MEMO_BLOCK_BYTES; i++) {
		const struct vmop_run run = {.start = i, .end = i + 1, .group = 1, .cell = i};
		vmop_run_memo_put(&memo, i, &run);
	}
	for (uint32_t i = 0; i < VMOP_RUN_MEMO_BLOCK_BYTES; i++)
		n_found += vmop_run_memo_find(&memo, 1, i) != NULL;
	assert_int_equal(n_found, VMOP_RUN_MEMO_MAX_STEPS);
	assert_non_null(vmop_run_memo_find(&memo, 1, VMOP_RUN_MEMO_BLOCK_BYTES - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(runs_are_found_by_group_and_offset),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(crowded_blocks_are_searched_for_a_while),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
