// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/flame-layout.h"

#include <stdlib.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "opreport/stacks/call-path.h"

/* A node that is wide enough. */
struct candidate {
	uint64_t size;
	uint32_t node;
};

/* A level of the path to the present node. */
struct level {
	uint32_t node;	       /* at this depth */
	double left;	       /* of the node's next child */
	struct vmop_count sum; /* of the node's children without a box */
	uint32_t n_summed;
};

struct layouter {
	struct vmop_flame_layout *layout;
	const struct vmop_call_tree *tree;
	const struct vmop_flame_layout_options *options;
	struct candidate *candidates; /* n_candidates */
	size_t n_candidates, capacity;
	uint8_t *is_shown; /* by node */
	struct level levels[VMOP_CALL_PATH_MAX + 1];
};

static struct vmop_count count_of(const struct layouter *layouter, uint32_t node)
{
	return vmop_call_tree_total(layouter->tree, node)[layouter->options->event];
}

/* A session's event can have samples without weight. */
static uint64_t size_of(const struct layouter *layouter, struct vmop_count count)
{
	return count_of(layouter, 0).weight_events ? count.weight_events : count.samples;
}

static double share_of(const struct layouter *layouter, struct vmop_count count)
{
	uint64_t all = size_of(layouter, count_of(layouter, 0));
	return all ? (double)size_of(layouter, count) / (double)all : 0;
}

/* ---- which nodes ------------------------------------------------------------- */

static int compare_candidates(const void *a, const void *b)
{
	const struct candidate *x = a, *y = b;
	if (x->size != y->size)
		return x->size < y->size ? 1 : -1;
	return (x->node > y->node) - (x->node < y->node);
}

static struct vmop_error *find_candidates(struct layouter *layouter)
{
	const struct vmop_call_tree *tree = layouter->tree;
	size_t depth = 0;
	for (uint32_t node = vmop_call_tree_next(tree, 0, &depth); node;
	     node = vmop_call_tree_next(tree, node, &depth)) {
		struct vmop_count count = count_of(layouter, node);
		if (!count.samples)
			continue;
		layouter->layout->n_hidden++;
		if (share_of(layouter, count) < layouter->options->min_width ||
		    depth > VMOP_CALL_PATH_MAX)
			continue;
		if (!vmop_array_reserve(layouter->candidates, layouter->capacity,
					layouter->n_candidates + 1))
			return &vmop_error_no_memory;
		layouter->candidates[layouter->n_candidates++] =
			(struct candidate){size_of(layouter, count), node};
	}
	return NULL;
}

/*
 * Show candidates, the widest first, while there is room.  A caller is as wide as its callees and
 * has a lower number, so it is shown before them.
 */
static struct vmop_error *choose(struct layouter *layouter)
{
	const struct vmop_flame_layout_options *options = layouter->options;
	size_t used_bytes = 0;
	layouter->is_shown = calloc(layouter->tree->n_nodes, 1);
	if (!layouter->is_shown)
		return &vmop_error_no_memory;
	if (layouter->n_candidates)
		qsort(layouter->candidates, layouter->n_candidates, sizeof(*layouter->candidates),
		      compare_candidates);
	layouter->is_shown[0] = true;
	for (size_t i = 0; i < layouter->n_candidates; i++) {
		uint32_t node = layouter->candidates[i].node;
		used_bytes += options->cost(options->arg, node);
		if (used_bytes > options->max_bytes)
			break;
		layouter->is_shown[node] = true;
		layouter->layout->n_hidden--;
	}
	return NULL;
}

/* ---- where ------------------------------------------------------------------- */

static struct vmop_error *add_box(struct layouter *layouter, const struct vmop_flame_box *box)
{
	struct vmop_flame_layout *layout = layouter->layout;
	if (!vmop_array_reserve(layout->boxes, layout->capacity, layout->n + 1))
		return &vmop_error_no_memory;
	layout->boxes[layout->n++] = *box;
	if (box->depth > layout->max_depth)
		layout->max_depth = box->depth;
	return NULL;
}

/* Add the node's box, and make room for its children. */
static struct vmop_error *enter(struct layouter *layouter, uint32_t node, size_t depth)
{
	struct level *above = depth ? &layouter->levels[depth - 1] : NULL;
	const struct vmop_flame_box box = {
		.node = node,
		.depth = depth,
		.left = above ? above->left : 0,
		.width = share_of(layouter, count_of(layouter, node)),
		.count = count_of(layouter, node),
	};
	if (above)
		above->left += box.width;
	layouter->levels[depth] = (struct level){.node = node, .left = box.left};
	return add_box(layouter, &box);
}

/* Add the box of what is not shown below the node of a level that the walk leaves. */
static struct vmop_error *leave(struct layouter *layouter, size_t depth)
{
	const struct level *level = &layouter->levels[depth];
	const struct vmop_flame_box box = {
		.node = level->node,
		.n_summed = level->n_summed,
		.depth = depth + 1,
		.left = level->left,
		.width = share_of(layouter, level->sum),
		.count = level->sum,
	};
	if (!box.n_summed || box.width < layouter->options->min_width)
		return NULL;
	return add_box(layouter, &box);
}

static struct vmop_error *place(struct layouter *layouter)
{
	const struct vmop_call_tree *tree = layouter->tree;
	size_t depth = 0, deepest = 0; /* deepest: of the levels entered and not left */
	struct vmop_error *err = enter(layouter, 0, 0);
	for (uint32_t node = vmop_call_tree_next(tree, 0, &depth); node && !err;
	     node = vmop_call_tree_next(tree, node, &depth)) {
		struct vmop_count count = count_of(layouter, node);
		if (!layouter->is_shown[tree->nodes[node].parent] || !count.samples)
			continue;
		for (; deepest >= depth && !err; deepest--)
			err = leave(layouter, deepest);
		if (err || depth > VMOP_CALL_PATH_MAX)
			break;
		if (layouter->is_shown[node]) {
			err = enter(layouter, node, depth);
			deepest = depth;
			continue;
		}
		struct level *above = &layouter->levels[depth - 1];
		vmop_count_add(&above->sum, count.samples, count.weight_events);
		above->n_summed++;
	}
	for (size_t left = deepest + 1; left-- > 0 && !err;)
		err = leave(layouter, left);
	return err;
}

struct vmop_error *vmop_flame_layout_init(struct vmop_flame_layout *ret,
					  const struct vmop_call_tree *tree,
					  const struct vmop_flame_layout_options *options)
{
	*ret = (struct vmop_flame_layout){0};
	_cleanup_free_ struct layouter *layouter = calloc(1, sizeof(*layouter));
	if (!layouter)
		return &vmop_error_no_memory;
	layouter->layout = ret;
	layouter->tree = tree;
	layouter->options = options;
	struct vmop_error *err = find_candidates(layouter);
	if (!err)
		err = choose(layouter);
	if (!err)
		err = place(layouter);
	free(layouter->candidates);
	free(layouter->is_shown);
	return err;
}

void vmop_flame_layout_deinit(struct vmop_flame_layout *layout)
{
	free(layout->boxes);
	*layout = (struct vmop_flame_layout){0};
}
