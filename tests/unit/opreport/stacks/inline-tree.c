// SPDX-License-Identifier: GPL-2.0-or-later
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "opreport/stacks/call-path.h"
#include "opreport/stacks/inline-map.h"
#include "tests/unit/opreport/stacks/trees.h"

static const struct vmop_inlined inner = {.symbol.name = "inner (inlined)", .name = "inner"},
				 outer = {.symbol.name = "outer (inlined)", .name = "outer"};

/* A tree, and a map in which "inner" and "outer" are inlined into the function 'b'. */
struct world {
	struct vmop_result result;
	struct vmop_call_tree tree, copy;
	struct vmop_inline_map map;
	struct vmop_inline_chain chains[64];
	const struct vmop_inlined *functions[2];
};

static const struct vmop_call_tree_options by_offset = {.by_offset = true};

static void set_up(struct world *world)
{
	*world = (struct world){.result.n_events = 1, .functions = {&inner, &outer}};
	world->map = (struct vmop_inline_map){
		.chains = world->chains, .functions = world->functions, .n_functions = 2};
	assert_ok(vmop_call_tree_init(&world->tree, &world->result, &by_offset));
	world->chains[frame_of(&world->tree, 'b')] = (struct vmop_inline_chain){.n = 2};
}

static void copy(struct world *world)
{
	assert_ok(vmop_call_tree_finish(&world->tree));
	assert_ok(vmop_inline_tree_init(&world->copy, &world->tree, &world->map, &by_offset));
	assert_int_equal(vmop_call_tree_total(&world->copy, 0)->samples,
			 vmop_call_tree_total(&world->tree, 0)->samples);
}

static void tear_down(struct world *world)
{
	vmop_call_tree_deinit(&world->tree);
	vmop_call_tree_deinit(&world->copy);
}

static void inlined_functions_are_below_their_function(void **state)
{
	(void)state;
	static struct world world;
	char text[512] = "";
	size_t depth = 0, len = 0;
	set_up(&world);
	add_stack(&world.tree, "ab", 5);
	add_stack(&world.tree, "abc", 4);
	add_stack(&world.tree, "c", 3);
	add_stack(&world.tree, "bb", 2);
	copy(&world);
	for (uint32_t node = 0; (node = vmop_call_tree_next(&world.copy, node, &depth));) {
		const struct vmop_inlined *inlined =
			vmop_inlined_of_frame(vmop_call_tree_frame(&world.copy, node));
		const char letter[] = {function_of(&world.copy, node), '\0'};
		len += (size_t)snprintf(text + len, sizeof(text) - len, "%*s%s %d\n",
					(int)depth - 1, "", inlined ? inlined->name : letter,
					(int)vmop_call_tree_self(&world.copy, node)->samples);
	}
	assert_string_equal(text, "a 0\n"
				  " b 0\n"
				  "  outer 0\n"
				  "   inner 5\n"
				  "    c 4\n"
				  "c 3\n"
				  "b 0\n"
				  " outer 0\n"
				  "  inner 0\n"
				  "   b 0\n"
				  "    outer 0\n"
				  "     inner 2\n");
	tear_down(&world);
}

/* Formats skip nodes deeper than their bound: no node may become so deep. */
static void paths_stay_within_the_bound(void **state)
{
	(void)state;
	static struct world world;
	char path[VMOP_CALL_PATH_MAX];
	size_t depth = 0, deepest = 0, n_inlined = 0;
	set_up(&world);
	memset(path, 'b', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	add_stack(&world.tree, path + 10, 7);
	copy(&world);
	for (uint32_t node = 0; (node = vmop_call_tree_next(&world.copy, node, &depth));) {
		deepest = depth > deepest ? depth : deepest;
		n_inlined += vmop_inlined_of_frame(vmop_call_tree_frame(&world.copy, node)) != NULL;
	}
	assert_true(deepest < VMOP_CALL_PATH_MAX);
	assert_true(n_inlined >= 8);
	tear_down(&world);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(inlined_functions_are_below_their_function),
		cmocka_unit_test(paths_stay_within_the_bound),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
