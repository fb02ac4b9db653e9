// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/stack-memo.h"

#include <cmocka.h>

#include "libutil/cleanup.h"
#include "tests/unit/ok.h"

enum { N = 20000 };

/* Places are found by their group and stack, also after the memo grew. */
static void places_are_found(void **state)
{
	(void)state;
	_cleanup_(vmop_stack_memo_deinit) struct vmop_stack_memo memo = {0};
	struct vmop_stack_place place;
	assert_false(vmop_stack_memo_find(&memo, 0, 1, &place));
	for (uint32_t i = 1; i <= N; i++)
		assert_ok(vmop_stack_memo_put(
			&memo, i % 3, i, (struct vmop_stack_place){i * 2, (uint16_t)(i % 5), 1}));
	for (uint32_t i = 1; i <= N; i++) {
		assert_true(vmop_stack_memo_find(&memo, i % 3, i, &place));
		assert_int_equal(place.node, i * 2);
		assert_int_equal(place.end, i % 5);
		assert_false(vmop_stack_memo_find(&memo, i % 3 + 1, i, &place));
	}
	vmop_stack_memo_clear(&memo);
	assert_false(vmop_stack_memo_find(&memo, 1, 1, &place));
}

/* The memory never exceeds its bound; a forgotten place can be put again. */
static void memory_is_bounded(void **state)
{
	(void)state;
	_cleanup_(vmop_stack_memo_deinit) struct vmop_stack_memo memo = {0};
	struct vmop_stack_place place;
	const size_t enough = VMOP_STACK_MEMO_MAX_BYTES / sizeof(struct vmop_stack_memo_entry);
	for (uint32_t i = 1; i <= enough; i++)
		assert_ok(vmop_stack_memo_put(&memo, 0, i, (struct vmop_stack_place){i, 0, 0}));
	assert_true(memo.capacity * sizeof(*memo.entries) <= VMOP_STACK_MEMO_MAX_BYTES);
	assert_true(vmop_stack_memo_find(&memo, 0, (uint32_t)enough, &place));
	assert_false(vmop_stack_memo_find(&memo, 0, 1, &place));
	assert_ok(vmop_stack_memo_put(&memo, 0, 1, (struct vmop_stack_place){1, 0, 0}));
	assert_true(vmop_stack_memo_find(&memo, 0, 1, &place));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(places_are_found),
		cmocka_unit_test(memory_is_bounded),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
