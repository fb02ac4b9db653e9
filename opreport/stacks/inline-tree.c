// SPDX-License-Identifier: GPL-2.0-or-later
#include <stdlib.h>

#include "libutil/cleanup.h"
#include "opreport/stacks/call-path.h"
#include "opreport/stacks/inline-map.h"

/* The nodes of the copy for those of the tree. */
struct copying {
	const struct vmop_call_tree *tree;
	const struct vmop_inline_map *map;
	struct vmop_call_tree *copy;
	uint32_t *nodes;  /* by node: where its samples are */
	uint32_t *depths; /* of these */
	uint32_t *below;  /* by node: the nodes on the longest path below it */
};

static struct vmop_error *descend(struct copying *copying, const struct vmop_frame_key *key,
				  uint32_t text_image, uint32_t *node)
{
	uint32_t frame;
	struct vmop_error *err =
		vmop_frames_intern(&copying->copy->frames, key, text_image, &frame);
	return err ? err : vmop_call_tree_child(copying->copy, *node, frame, node);
}

/* Copy a node below the copy of its parent, and add the inlined functions, the outermost first. */
static struct vmop_error *copy_node(struct copying *copying, uint32_t node)
{
	const struct vmop_call_tree *tree = copying->tree;
	const struct vmop_call_node *item = &tree->nodes[node];
	const struct vmop_frame *frame = &tree->frames.items[item->frame];
	const struct vmop_inline_chain chain = copying->map->chains[item->frame];
	struct vmop_frame_key key = frame->key;
	uint32_t to = copying->nodes[item->parent], depth = copying->depths[item->parent] + 1;
	if (!copying->copy->options.by_offset)
		key.offset = 0;
	struct vmop_error *err = descend(copying, &key, frame->text_image, &to);
	/* Where a path would become too long for the formats, it stays as it is. */
	bool fits = depth + chain.n + copying->below[node] < VMOP_CALL_PATH_MAX;
	for (uint32_t i = chain.n; fits && i-- > 0 && !err; depth++) {
		key.symbol = &copying->map->functions[chain.first + i]->symbol;
		key.value = VMOP_FRAME_IS_INLINED;
		err = descend(copying, &key, frame->text_image, &to);
	}
	copying->nodes[node] = to;
	copying->depths[node] = depth;
	if (err)
		return err;
	const struct vmop_count *self = vmop_call_tree_self(tree, node);
	bool is_left_out = to == copying->copy->left_out_node && node != tree->left_out_node;
	for (size_t e = 0; e < tree->n_events; e++) {
		if (!self[e].samples)
			continue;
		vmop_call_tree_add(copying->copy, to, e, self[e].samples, self[e].weight_events);
		if (is_left_out)
			tree->result->left_out.stacks += self[e].samples;
	}
	return NULL;
}

/* Set below. */
static void measure(struct copying *copying)
{
	const struct vmop_call_node *nodes = copying->tree->nodes;
	for (size_t i = copying->tree->n_nodes; i-- > 1;) { /* parents have lower numbers */
		uint32_t *parent = &copying->below[nodes[i].parent];
		if (*parent < copying->below[i] + 1)
			*parent = copying->below[i] + 1;
	}
}

struct vmop_error *vmop_inline_tree_init(struct vmop_call_tree *ret,
					 const struct vmop_call_tree *tree,
					 const struct vmop_inline_map *map,
					 const struct vmop_call_tree_options *options)
{
	_cleanup_free_ uint32_t *nodes = calloc(tree->n_nodes, sizeof(*nodes));
	_cleanup_free_ uint32_t *depths = calloc(tree->n_nodes, sizeof(*depths));
	_cleanup_free_ uint32_t *below = calloc(tree->n_nodes, sizeof(*below));
	struct copying copying = {.tree = tree,
				  .map = map,
				  .copy = ret,
				  .nodes = nodes,
				  .depths = depths,
				  .below = below};
	struct vmop_error *err = vmop_call_tree_init(ret, tree->result, options);
	if (!err && (!nodes || !depths || !below))
		err = &vmop_error_no_memory;
	if (!err)
		measure(&copying);
	for (uint32_t node = 1; node < tree->n_nodes && !err; node++)
		err = copy_node(&copying, node);
	if (!err && options->by_time)
		err = vmop_time_counts_copy(&ret->times, &tree->times, nodes);
	if (!err && options->by_time)
		err = vmop_time_counts_copy(&ret->bills, &tree->bills, NULL);
	return err ? err : vmop_call_tree_finish(ret);
}
