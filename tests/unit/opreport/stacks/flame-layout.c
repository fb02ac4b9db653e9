// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/flame-layout.h"

#include <cmocka.h>
#include <math.h>

/* A tree of words; only the counts matter here. */
struct fixture {
	struct vmop_result result;
	struct vmop_call_tree tree;
};

static void init(struct fixture *fixture)
{
	static const struct vmop_call_tree_options options = {0};
	*fixture = (struct fixture){.result.n_events = 1};
	assert_null(vmop_call_tree_init(&fixture->tree, &fixture->result, &options));
}

static uint32_t add(struct fixture *fixture, uint32_t parent, uint32_t name, uint64_t weight)
{
	const struct vmop_frame_key key = {.kind = VMOP_FRAME_CPU, .value = name + 2};
	uint32_t frame, node;
	assert_null(vmop_frames_intern(&fixture->tree.frames, &key, 0, &frame));
	assert_null(vmop_call_tree_child(&fixture->tree, parent, frame, &node));
	vmop_call_tree_add(&fixture->tree, node, 0, weight ? 1 : 0, weight);
	return node;
}

static size_t one(void *arg, uint32_t node)
{
	(void)arg;
	(void)node;
	return 1;
}

static void assert_box(const struct vmop_flame_box *box, uint32_t node, uint32_t n_summed,
		       size_t depth, double left, double width)
{
	assert_int_equal(box->node, node);
	assert_int_equal(box->n_summed, n_summed);
	assert_int_equal(box->depth, depth);
	assert_true(fabs(box->left - left) < 1e-9);
	assert_true(fabs(box->width - width) < 1e-9);
}

static void lay_out(struct fixture *fixture, double min_width, size_t max_bytes,
		    struct vmop_flame_layout *ret)
{
	const struct vmop_flame_layout_options options = {
		.min_width = min_width, .cost = one, .max_bytes = max_bytes};
	assert_null(vmop_call_tree_finish(&fixture->tree));
	assert_null(vmop_flame_layout_init(ret, &fixture->tree, &options));
}

static void callees_share_their_callers_width(void **state)
{
	(void)state;
	struct fixture fixture;
	struct vmop_flame_layout layout;
	init(&fixture);
	uint32_t a = add(&fixture, 0, 1, 10), b = add(&fixture, 0, 2, 20);
	uint32_t aa = add(&fixture, a, 3, 30), ab = add(&fixture, a, 4, 40);
	lay_out(&fixture, 0.001, 100, &layout);
	assert_int_equal(layout.n, 5);
	assert_int_equal(layout.max_depth, 2);
	assert_int_equal(layout.n_hidden, 0);
	assert_box(&layout.boxes[0], 0, 0, 0, 0, 1);
	assert_box(&layout.boxes[1], a, 0, 1, 0, 0.8);
	assert_box(&layout.boxes[2], ab, 0, 2, 0, 0.4);
	assert_box(&layout.boxes[3], aa, 0, 2, 0.4, 0.3);
	assert_box(&layout.boxes[4], b, 0, 1, 0.8, 0.2);
	vmop_flame_layout_deinit(&layout);
	vmop_call_tree_deinit(&fixture.tree);
}

static void narrow_boxes_are_one(void **state)
{
	(void)state;
	struct fixture fixture;
	struct vmop_flame_layout layout;
	init(&fixture);
	uint32_t a = add(&fixture, 0, 1, 0);
	uint32_t wide = add(&fixture, a, 2, 60);
	for (uint32_t i = 0; i < 4; i++)
		add(&fixture, add(&fixture, a, 10 + i, 0), 3, 10);
	lay_out(&fixture, 0.15, 100, &layout);
	assert_int_equal(layout.n, 4);
	assert_int_equal(layout.n_hidden, 8);
	assert_box(&layout.boxes[1], a, 0, 1, 0, 1);
	assert_box(&layout.boxes[2], wide, 0, 2, 0, 0.6);
	assert_box(&layout.boxes[3], a, 4, 2, 0.6, 0.4);
	assert_int_equal(layout.boxes[3].count.samples, 4);
	assert_int_equal(layout.boxes[3].count.weight_events, 40);
	vmop_flame_layout_deinit(&layout);
	vmop_call_tree_deinit(&fixture.tree);
}

static void the_widest_boxes_fit(void **state)
{
	(void)state;
	struct fixture fixture;
	struct vmop_flame_layout layout;
	init(&fixture);
	uint32_t a = add(&fixture, 0, 1, 50), b = add(&fixture, 0, 2, 30);
	add(&fixture, b, 3, 15);
	add(&fixture, 0, 4, 5);
	lay_out(&fixture, 0.001, 2, &layout);
	assert_int_equal(layout.n_hidden, 2);
	assert_int_equal(layout.n, 5);
	assert_box(&layout.boxes[1], a, 0, 1, 0, 0.5);
	assert_box(&layout.boxes[2], b, 0, 1, 0.5, 0.45);
	assert_box(&layout.boxes[3], b, 1, 2, 0.5, 0.15);
	assert_box(&layout.boxes[4], 0, 1, 1, 0.95, 0.05);
	vmop_flame_layout_deinit(&layout);
	vmop_call_tree_deinit(&fixture.tree);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(callees_share_their_callers_width),
		cmocka_unit_test(narrow_boxes_are_one),
		cmocka_unit_test(the_widest_boxes_fit),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
