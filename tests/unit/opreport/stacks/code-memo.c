// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/code-memo.h"

#include <cmocka.h>

#include "libutil/cleanup.h"
#include "tests/unit/ok.h"

static void code_is_found(void **state)
{
	(void)state;
	_cleanup_(vmop_code_memo_deinit) struct vmop_code_memo memo = {0};
	uint32_t frame;
	assert_false(vmop_code_memo_find(&memo, 1, 0x1000, &frame));
	assert_ok(vmop_code_memo_put(&memo, 1, 0x1000, 0));
	assert_ok(vmop_code_memo_put(&memo, 0, 0, 7));
	assert_true(vmop_code_memo_find(&memo, 1, 0x1000, &frame));
	assert_int_equal(frame, 0);
	assert_true(vmop_code_memo_find(&memo, 0, 0, &frame));
	assert_int_equal(frame, 7);
	assert_false(vmop_code_memo_find(&memo, 1, 0x1001, &frame));
	assert_false(vmop_code_memo_find(&memo, 2, 0x1000, &frame));
}

/* An entry that was replaced is not found; a found one is right. */
static void entries_are_replaced(void **state)
{
	(void)state;
	_cleanup_(vmop_code_memo_deinit) struct vmop_code_memo memo = {0};
	const uint32_t n = 4 * VMOP_CODE_MEMO_MAX_ENTRIES;
	uint32_t frame, n_found = 0;
	for (uint32_t i = 0; i < n; i++)
		assert_ok(vmop_code_memo_put(&memo, i % 7, i * UINT64_C(16), i));
	for (uint32_t i = 0; i < n; i++) {
		if (!vmop_code_memo_find(&memo, i % 7, i * UINT64_C(16), &frame))
			continue;
		assert_int_equal(frame, i);
		n_found++;
	}
	assert_int_equal(memo.n_entries, VMOP_CODE_MEMO_MAX_ENTRIES);
	assert_in_range(n_found, VMOP_CODE_MEMO_MAX_ENTRIES / 2, VMOP_CODE_MEMO_MAX_ENTRIES);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_is_found),
		cmocka_unit_test(entries_are_replaced),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
