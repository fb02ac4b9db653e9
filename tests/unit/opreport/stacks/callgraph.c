// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/callgraph.h"

#include <cmocka.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "tests/unit/opreport/stacks/trees.h"

static const struct vmop_function *find(const struct vmop_callgraph *graph, char letter)
{
	for (size_t i = 0; i < graph->n_functions; i++) {
		const struct vmop_function *function = &graph->functions[i];
		if (graph->tree->frames.items[function->frame].key.offset == (uint64_t)letter)
			return function;
	}
	fail_msg("no function %c", letter);
	return NULL;
}

/* Return the samples of the caller's or callee's arc, and set *ret_other to its letter. */
static int arc(const struct vmop_callgraph *graph, uint32_t index, bool is_caller, char *ret_other)
{
	const struct vmop_call_arc *found = &graph->arcs[index];
	uint32_t other = is_caller ? found->caller : found->callee;
	*ret_other = (char)graph->tree->frames.items[other].key.offset;
	return (int)found->counts[0].samples;
}

static void make(struct vmop_result *result, struct vmop_call_tree *tree,
		 struct vmop_callgraph *graph)
{
	const struct vmop_call_tree_options options = {0};
	assert_ok(vmop_call_tree_init(tree, result, &options));
	add_stack(tree, "mf", 2);
	add_stack(tree, "mfff", 5);  /* recursion */
	add_stack(tree, "mfgfg", 7); /* mutual recursion */
	add_stack(tree, "g", 1);
	assert_ok(vmop_call_tree_finish(tree));
	assert_ok(vmop_callgraph_init(graph, tree));
}

/* A sample counts once in the total of a function that is several times in its stack. */
static void recursion_counts_once(void **state)
{
	(void)state;
	struct vmop_result result = {.n_events = 1};
	_cleanup_(vmop_call_tree_deinit) struct vmop_call_tree tree;
	_cleanup_(vmop_callgraph_deinit) struct vmop_callgraph graph;
	make(&result, &tree, &graph);
	assert_int_equal(graph.n_functions, 3);
	assert_int_equal(find(&graph, 'm')->total->samples, 14);
	assert_int_equal(find(&graph, 'm')->self->samples, 0);
	assert_int_equal(find(&graph, 'f')->total->samples, 14);
	assert_int_equal(find(&graph, 'f')->self->samples, 7);
	assert_int_equal(find(&graph, 'g')->total->samples, 8);
	assert_int_equal(find(&graph, 'g')->self->samples, 8);
}

/* Callers and callees descend by samples; an arc that repeats in a stack counts once. */
static void arcs_are_ordered(void **state)
{
	(void)state;
	struct vmop_result result = {.n_events = 1};
	_cleanup_(vmop_call_tree_deinit) struct vmop_call_tree tree;
	_cleanup_(vmop_callgraph_deinit) struct vmop_callgraph graph;
	make(&result, &tree, &graph);
	const struct vmop_function *f = find(&graph, 'f');
	const uint32_t *callers = graph.by_callee + f->first_caller;
	const uint32_t *callees = graph.by_caller + f->first_callee;
	char other;
	assert_int_equal(f->n_callers, 3);
	assert_int_equal(arc(&graph, callers[0], true, &other), 14);
	assert_int_equal(other, 'm');
	assert_int_equal(arc(&graph, callers[1], true, &other), 7);
	assert_int_equal(other, 'g');
	assert_int_equal(arc(&graph, callers[2], true, &other), 5);
	assert_int_equal(other, 'f');
	assert_int_equal(f->n_callees, 2);
	assert_int_equal(arc(&graph, callees[0], false, &other), 7);
	assert_int_equal(other, 'g');
	assert_int_equal(find(&graph, 'm')->n_callers, 0);
	assert_int_equal(find(&graph, 'm')->n_callees, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(recursion_counts_once),
		cmocka_unit_test(arcs_are_ordered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
