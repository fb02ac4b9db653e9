// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/export/html/rows.h"

#include <cmocka.h>

#include "libutil/cleanup.h"
#include "tests/unit/opreport/stacks/trees.h"

static void check(const struct vmop_call_tree *tree, const struct vmop_page_rows *rows, size_t i,
		  char function, uint64_t self, uint64_t total)
{
	const struct vmop_page_row *row = &rows->items[i];
	assert_true(i < rows->n_kept);
	assert_int_equal(tree->frames.items[row->frame].key.offset, function);
	assert_int_equal(row->domain, VMOP_NO_FRAME);
	assert_int_equal(row->self.samples, self);
	assert_int_equal(row->total.samples, total);
	assert_int_equal(row->total.weight_events, 10 * total);
}

static void make_tree(struct vmop_call_tree *tree, struct vmop_result *result)
{
	const struct vmop_call_tree_options options = {0};
	assert_ok(vmop_call_tree_init(tree, result, &options));
	add_stack(tree, "ab", 2);
	add_stack(tree, "aab", 5); /* recursion: a counts once */
	add_stack(tree, "ac", 20);
	add_stack(tree, "c", 1);
	add_stack(tree, "d", 3);
	assert_ok(vmop_call_tree_finish(tree));
}

static void functions_are_rows(void **state)
{
	(void)state;
	struct vmop_result result = {.n_events = 1};
	_cleanup_(vmop_call_tree_deinit) struct vmop_call_tree tree;
	_cleanup_(vmop_page_rows_deinit) struct vmop_page_rows rows;
	make_tree(&tree, &result);
	assert_ok(vmop_page_rows_init(&rows, &tree, 0, 100));
	assert_int_equal(rows.n, 4);
	check(&tree, &rows, 0, 'c', 21, 21);
	check(&tree, &rows, 1, 'b', 7, 7);
	check(&tree, &rows, 2, 'd', 3, 3);
	check(&tree, &rows, 3, 'a', 0, 27);
	assert_int_equal(rows.rest.samples, 0);
}

static void the_rest_is_summed(void **state)
{
	(void)state;
	struct vmop_result result = {.n_events = 1};
	_cleanup_(vmop_call_tree_deinit) struct vmop_call_tree tree;
	_cleanup_(vmop_page_rows_deinit) struct vmop_page_rows rows;
	size_t kept = 0;
	make_tree(&tree, &result);
	assert_ok(vmop_page_rows_init(&rows, &tree, 0, 2));
	assert_int_equal(rows.n, 4);
	assert_int_equal(rows.n_kept, 2);
	assert_int_equal(rows.rest.samples, 3);
	vmop_page_rows_cut(&rows, tree.n_nodes, 1);
	assert_int_equal(rows.n_kept, 1);
	assert_int_equal(rows.rest.samples, 10);
	for (size_t node = 1; node < tree.n_nodes; node++) {
		kept += rows.row_of[node] == 0;
		assert_true(rows.row_of[node] == 0 || rows.row_of[node] == VMOP_NO_FRAME);
	}
	assert_int_equal(kept, 2); /* c and a's c */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_are_rows),
		cmocka_unit_test(the_rest_is_summed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
