// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/inverse-tree.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"

enum { ROOT = 0 };

/* Turning a tree: the nodes of the inverse for its nodes. */
struct turning {
	const struct vmop_call_tree *tree;
	struct vmop_call_tree *inverse;
	uint32_t *group_nodes; /* by node of tree: the inverse's node of its groups */
	bool *are_large;       /* by frame: its own samples reach the threshold */
};

/* Intern the same frames in the same order, so that their numbers are the same. */
static struct vmop_error *copy_frames(const struct turning *turning)
{
	const struct vmop_frames *frames = &turning->tree->frames;
	struct vmop_error *err = NULL;
	for (size_t i = 0; i < frames->n && !err; i++) {
		uint32_t number;
		err = vmop_frames_intern(&turning->inverse->frames, &frames->items[i].key,
					 frames->items[i].text_image, &number);
	}
	return err;
}

static struct vmop_error *find_large(struct turning *turning, const struct vmop_count *base,
				     double threshold_percent)
{
	const struct vmop_call_tree *tree = turning->tree;
	size_t n = tree->n_events;
	_cleanup_free_ struct vmop_count *selfs = calloc(tree->frames.n * n, sizeof(*selfs));
	turning->are_large = calloc(tree->frames.n, sizeof(*turning->are_large));
	if (!selfs || !turning->are_large)
		return &vmop_error_no_memory;
	for (uint32_t node = 1; node < tree->n_nodes; node++) {
		const struct vmop_count *self = vmop_call_tree_self(tree, node);
		for (size_t e = 0; e < n; e++)
			vmop_count_add(&selfs[tree->nodes[node].frame * n + e], self[e].samples,
				       self[e].weight_events);
	}
	for (size_t i = 0; i < tree->frames.n * n; i++)
		if ((double)selfs[i].weight_events * 100 >=
		    threshold_percent * (double)base[i % n].weight_events)
			turning->are_large[i / n] = true;
	return NULL;
}

/* Set group_nodes of a node; those of its parent are set. */
static struct vmop_error *place_groups(struct turning *turning, uint32_t node)
{
	const struct vmop_call_node *item = &turning->tree->nodes[node];
	uint32_t *ret = &turning->group_nodes[node];
	*ret = turning->group_nodes[item->parent];
	if (!vmop_frame_is_group(vmop_call_tree_frame(turning->tree, node)))
		return NULL;
	return vmop_call_tree_child(turning->inverse, *ret, item->frame, ret);
}

/* Add the own samples of a node below its group, along its callers. */
static struct vmop_error *add_node(struct turning *turning, uint32_t node)
{
	const struct vmop_call_tree *tree = turning->tree;
	const struct vmop_count *self = vmop_call_tree_self(tree, node);
	bool with_callers = turning->are_large[tree->nodes[node].frame];
	uint32_t to = turning->group_nodes[node];
	struct vmop_error *err = NULL;
	bool any = false;
	for (size_t e = 0; e < tree->n_events; e++)
		any = any || self[e].samples;
	if (!any)
		return NULL;
	for (uint32_t at = node; at != ROOT && !err; at = tree->nodes[at].parent) {
		if (vmop_frame_is_group(vmop_call_tree_frame(tree, at)) ||
		    (at != node && !with_callers))
			break;
		err = vmop_call_tree_child(turning->inverse, to, tree->nodes[at].frame, &to);
	}
	for (size_t e = 0; e < tree->n_events && !err; e++)
		vmop_call_tree_add(turning->inverse, to, e, self[e].samples, self[e].weight_events);
	return err;
}

struct vmop_error *vmop_inverse_tree_init(struct vmop_call_tree *ret,
					  const struct vmop_call_tree *tree,
					  const struct vmop_count *base, double threshold_percent)
{
	_cleanup_free_ uint32_t *group_nodes = calloc(tree->n_nodes, sizeof(*group_nodes));
	struct turning turning = {.tree = tree, .inverse = ret, .group_nodes = group_nodes};
	struct vmop_error *err = vmop_call_tree_init(ret, tree->result, &tree->options);
	if (!err && !group_nodes)
		err = &vmop_error_no_memory;
	if (!err)
		err = copy_frames(&turning);
	if (!err)
		err = find_large(&turning, base, threshold_percent);
	for (uint32_t node = 1; node < tree->n_nodes && !err; node++) {
		err = place_groups(&turning, node);
		if (!err)
			err = add_node(&turning, node);
	}
	free(turning.are_large);
	return err ? err : vmop_call_tree_finish(ret);
}
