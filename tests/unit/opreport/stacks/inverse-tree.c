// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/inverse-tree.h"

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "tests/unit/opreport/stacks/trees.h"

/* Invert stacks that share their ends; write "FUNCTION total" by depth to ret. */
static void invert(double threshold_percent, char *ret, size_t ret_bytes)
{
	struct vmop_result result = {.n_events = 1};
	const struct vmop_count base = {100, 1000};
	const struct vmop_call_tree_options options = {0};
	_cleanup_(vmop_call_tree_deinit) struct vmop_call_tree tree, inverse;
	assert_ok(vmop_call_tree_init(&tree, &result, &options));
	add_stack(&tree, "mab", 40);
	add_stack(&tree, "mb", 50);
	add_stack(&tree, "ma", 7);
	add_stack(&tree, "bc", 3);
	assert_ok(vmop_call_tree_finish(&tree));
	assert_ok(vmop_inverse_tree_init(&inverse, &tree, &base, threshold_percent));
	size_t depth = 0, len = 0;
	for (uint32_t node = 0; (node = vmop_call_tree_next(&inverse, node, &depth));)
		len += (size_t)snprintf(ret + len, ret_bytes - len, "%*s%c %d\n", (int)depth - 1,
					"", function_of(&inverse, node),
					(int)vmop_call_tree_total(&inverse, node)->samples);
	assert_int_equal(vmop_call_tree_total(&inverse, 0)->samples, 100);
}

static void callers_are_below(void **state)
{
	(void)state;
	char text[256];
	invert(0, text, sizeof(text));
	assert_string_equal(text, "b 90\n"
				  " m 50\n"
				  " a 40\n"
				  "  m 40\n"
				  "a 7\n"
				  " m 7\n"
				  "c 3\n"
				  " b 3\n");
}

/* Functions below the threshold keep their samples and lose their callers. */
static void small_functions_have_no_callers(void **state)
{
	(void)state;
	char text[256];
	invert(5, text, sizeof(text));
	assert_string_equal(text, "b 90\n"
				  " m 50\n"
				  " a 40\n"
				  "  m 40\n"
				  "a 7\n"
				  " m 7\n"
				  "c 3\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(callers_are_below),
		cmocka_unit_test(small_functions_have_no_callers),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
