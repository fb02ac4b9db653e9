// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/call-tree.h"

#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "tests/unit/opreport/stacks/trees.h"

/* Write "FUNCTION total/self" of each node, indented by depth, to ret. */
static void describe(const struct vmop_call_tree *tree, char *ret, size_t ret_bytes)
{
	size_t depth = 0, len = 0;
	ret[0] = '\0';
	for (uint32_t node = 0; (node = vmop_call_tree_next(tree, node, &depth));)
		len += (size_t)snprintf(ret + len, ret_bytes - len, "%*s%c %d/%d\n", (int)depth - 1,
					"", function_of(tree, node),
					(int)vmop_call_tree_total(tree, node)->samples,
					(int)vmop_call_tree_self(tree, node)->samples);
	assert_int_equal(depth, 0);
}

/* Prefixes are shared, totals include the nodes below, siblings descend by weight. */
static void stacks_add_up(void **state)
{
	(void)state;
	struct vmop_result result = {.n_events = 1};
	_cleanup_(vmop_call_tree_deinit) struct vmop_call_tree tree;
	const struct vmop_call_tree_options options = {0};
	char text[512];
	assert_ok(vmop_call_tree_init(&tree, &result, &options));
	add_stack(&tree, "ab", 2);
	add_stack(&tree, "acc", 5);
	add_stack(&tree, "a", 1);
	add_stack(&tree, "d", 30);
	add_stack(&tree, "ab", 1);
	add_stack(&tree, "ax", 0); /* no samples: no node is shown */
	assert_ok(vmop_call_tree_finish(&tree));
	describe(&tree, text, sizeof(text));
	assert_string_equal(text, "d 30/30\n"
				  "a 9/1\n"
				  " c 5/0\n"
				  "  c 5/5\n"
				  " b 3/3\n");
	assert_int_equal(vmop_call_tree_total(&tree, 0)->samples, 39);
	assert_int_equal(vmop_call_tree_total(&tree, 0)->weight_events, 390);
}

/* Every sample beyond the bound of memory is in left_out_node. */
static void nodes_are_bounded(void **state)
{
	(void)state;
	enum { EVENTS = 4096, N = 5000 };
	struct vmop_result result = {.n_events = EVENTS};
	_cleanup_(vmop_call_tree_deinit) struct vmop_call_tree tree;
	const struct vmop_call_tree_options options = {0};
	assert_ok(vmop_call_tree_init(&tree, &result, &options));
	uint32_t frame = frame_of(&tree, 'a'), node = 0;
	for (size_t i = 0; i < N; i++) {
		assert_ok(vmop_call_tree_child(&tree, node, frame, &node));
		vmop_call_tree_add(&tree, node, i % EVENTS, 1, 1);
	}
	assert_int_equal(node, tree.left_out_node);
	assert_true(tree.n_nodes * EVENTS * 2 * sizeof(struct vmop_count) <=
		    VMOP_CALL_TREE_MAX_BYTES);
	assert_ok(vmop_call_tree_finish(&tree));
	uint64_t all = 0, left_out = 0;
	for (size_t e = 0; e < EVENTS; e++) {
		all += vmop_call_tree_total(&tree, 0)[e].samples;
		left_out += vmop_call_tree_total(&tree, tree.left_out_node)[e].samples;
	}
	assert_int_equal(all, N);
	assert_int_equal(left_out, N - (tree.n_nodes - 2));
	assert_true(left_out > 0);
}

/* A frame without room leads to the same node. */
static void frames_without_room_are_left_out(void **state)
{
	(void)state;
	struct vmop_result result = {.n_events = 1};
	_cleanup_(vmop_call_tree_deinit) struct vmop_call_tree tree;
	const struct vmop_call_tree_options options = {0};
	uint32_t node;
	assert_ok(vmop_call_tree_init(&tree, &result, &options));
	assert_ok(vmop_call_tree_child(&tree, 0, VMOP_NO_FRAME, &node));
	assert_int_equal(node, tree.left_out_node);
	assert_ok(vmop_call_tree_child(&tree, node, frame_of(&tree, 'a'), &node));
	assert_int_equal(node, tree.left_out_node);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(stacks_add_up),
		cmocka_unit_test(nodes_are_bounded),
		cmocka_unit_test(frames_without_room_are_left_out),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
