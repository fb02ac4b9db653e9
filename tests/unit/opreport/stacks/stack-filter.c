// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/stack-filter.h"

#include <cmocka.h>

#include "libutil/cleanup.h"
#include "opreport/query/idle.h"
#include "tests/unit/ok.h"

/* Each list that has words must match, at its place in the stack. */
static void every_list_must_match(void **state)
{
	(void)state;
	_cleanup_(vmop_words_deinit) struct vmop_words words = {0};
	assert_ok(vmop_words_parse(&words, "test", "a,b*"));
	const struct vmop_words none = {0};
	const struct vmop_stack_filter empty = {.any = &none}, any = {.any = &words},
				       both = {.caller = &words, .callee = &words};
	assert_true(vmop_stack_filter_is_empty(&empty));
	assert_false(vmop_stack_filter_is_empty(&both));
	assert_true(vmop_stack_filter_passes(&empty, 0, 0));
	assert_false(vmop_stack_filter_passes(&any, 0, 0));
	assert_true(vmop_stack_filter_passes(&any, VMOP_MATCHES_ANY, 0));
	assert_true(vmop_stack_filter_passes(&any, 0, VMOP_MATCHES_ANY));
	assert_false(vmop_stack_filter_passes(&both, VMOP_MATCHES_CALLER, 0));
	assert_false(vmop_stack_filter_passes(&both, 0, VMOP_MATCHES_CALLER | VMOP_MATCHES_CALLEE));
	assert_true(vmop_stack_filter_passes(&both, VMOP_MATCHES_CALLER, VMOP_MATCHES_CALLEE));
}

/* A frame matches by the name that a report shows; groups match nothing. */
static void frames_match_by_name(void **state)
{
	(void)state;
	_cleanup_(vmop_words_deinit) struct vmop_words words = {0}, others = {0};
	assert_ok(vmop_words_parse(&words, "test", "x,\\[idle\\]"));
	assert_ok(vmop_words_parse(&others, "test", "idle"));
	const struct vmop_stack_filter filter = {.any = &words, .caller = &others};
	struct vmop_result result = {0};
	struct vmop_frame idle = {.key = {.symbol = &vmop_idle_symbol}};
	struct vmop_frame group = {.key = {.kind = VMOP_FRAME_TASK}};
	assert_int_equal(vmop_stack_filter_match(&filter, &result, &idle), VMOP_MATCHES_ANY);
	assert_int_equal(vmop_stack_filter_match(&filter, &result, &group), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_list_must_match),
		cmocka_unit_test(frames_match_by_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
