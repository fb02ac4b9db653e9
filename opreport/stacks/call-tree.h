// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Call tree: the samples of a query by the stacks that they were taken in.
 *
 * A node is a frame below its caller's node.  Node 0 is the root; it has no frame.  Below it come
 * the groups that the options ask for, in the order of enum vmop_frame_kind; then stacks, from the
 * outermost caller to the interrupted function.  An incomplete stack begins with a word that is
 * the reason, such as "[copy too small]".  A sample without a stack is a stack of its own function.
 * Samples beyond the bounds are in one node of kind VMOP_FRAME_LEFT_OUT under the root.
 *
 * Callers: vmopreport builds a tree by a query.  Data meets the files of this folder in this order:
 *   stack-filter  decides which stacks stack:, --caller and --callee select
 *   stack-reader  receives the query's samples and looks up the frames of their stacks
 *   stack-memo    keeps the stacks that were looked up
 *   frame         interns the frames, and names them
 *   call-tree     adds up the samples
 *   time-counts   adds them up by time, for the formats that need it
 *   call-path     is what the walks of finished trees have in common
 *   inclusive     adds to a query's rows the samples that were taken below them
 *   inline-map    looks up the functions that are inlined at the frames' addresses
 *   inline-tree   adds these to a tree as frames
 *   callgraph     finds callers and callees of each function
 *   inverse-tree  turns a tree upside down
 *   tree-output   lists the formats that print a tree themselves
 */
#ifndef VMOP_OPREPORT_STACKS_CALL_TREE_H
#define VMOP_OPREPORT_STACKS_CALL_TREE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"
#include "opreport/query/query.h"
#include "opreport/stacks/frame.h"
#include "opreport/stacks/time-counts.h"

struct vmop_call_tree_options {
	/*
	 * Bits of enum vmop_dimension: a level of groups for each of SESSION, DOMAIN, CGROUP, TASK,
	 * CPU, VCPU and CERTAINTY.  The query has these dimensions, too.
	 */
	unsigned groups;
	bool by_offset; /* code at two offsets of a function is two frames */
	bool by_mode;	/* code of two modes is two frames */
	/* Sessions without any stack are no error: each sample is a stack of its own function. */
	bool without_stacks;
	bool by_time; /* also count by time: see vmop_call_tree.times */
};

/* A node's number is greater than its parent's. */
struct vmop_call_node {
	uint32_t frame;	 /* number in frames; undefined in the root */
	uint32_t parent; /* node */
	/*
	 * Nodes, 0: none.  Set by vmop_call_tree_finish: siblings descend by total.  Before,
	 * first_child is the oldest child, and next_sibling the child that was looked up last
	 * among the others.
	 */
	uint32_t first_child, next_sibling;
};

/* The hash is of (parent, frame).  It decides nearly all comparisons without a look at the node. */
struct vmop_call_bucket {
	uint32_t node; /* 0: empty */
	uint32_t hash;
};

struct vmop_call_tree {
	struct vmop_result *result; /* of the query: catalog, events, names */
	struct vmop_call_tree_options options;
	struct vmop_frames frames;
	struct vmop_call_node *nodes; /* n_nodes, node 0 is the root */
	size_t n_nodes, capacity;
	size_t n_events;		  /* as in result; event slots */
	struct vmop_count *selfs;	  /* n_nodes * n_events: samples in this frame itself */
	struct vmop_count *totals;	  /* likewise, with all below; NULL before finish */
	struct vmop_call_bucket *buckets; /* of other children than the oldest */
	size_t n_buckets, n_used;	  /* n_buckets: a power of two */
	uint64_t seed;
	uint32_t left_out_node; /* 0: none */
	/* With by_time, of the reader's tree or a copy with inlined functions: counts by node, and
	 * by vmop_bill_key. */
	struct vmop_time_counts times, bills;
};

/* Return the key in `bills` of a part of a domain's bill; domain is the index of its row. */
static inline uint32_t vmop_bill_key(size_t domain, enum vmop_part part)
{
	_Static_assert(VMOP_ITEMS_MAX * VMOP_N_PARTS <= UINT32_MAX, "keys are 32 bits");
	return (uint32_t)domain * VMOP_N_PARTS + part;
}

/* The bound of nodes, counts and buckets together. */
#define VMOP_CALL_TREE_MAX_BYTES ((size_t)448 << 20)

/* Begin an empty tree.  result has its events and must outlive the tree. */
struct vmop_error *vmop_call_tree_init(struct vmop_call_tree *tree, struct vmop_result *result,
				       const struct vmop_call_tree_options *options);
void vmop_call_tree_deinit(struct vmop_call_tree *tree); /* a zeroed tree, too */

/*
 * Set *ret to the child of `parent` with that frame.  If it is new and there is no room, or if
 * frame is VMOP_NO_FRAME, set *ret to left_out_node.
 */
struct vmop_error *vmop_call_tree_child(struct vmop_call_tree *tree, uint32_t parent,
					uint32_t frame, uint32_t *ret);

/* Add samples of an event slot to a node itself. */
static inline void vmop_call_tree_add(struct vmop_call_tree *tree, uint32_t node, size_t slot,
				      uint64_t samples, uint64_t weight_events)
{
	vmop_count_add(&tree->selfs[node * tree->n_events + slot], samples, weight_events);
}

/* Sum up the totals and link the children.  Afterwards nothing may be added. */
struct vmop_error *vmop_call_tree_finish(struct vmop_call_tree *tree);

/* Return the frame of a node other than the root. */
static inline struct vmop_frame *vmop_call_tree_frame(const struct vmop_call_tree *tree,
						      uint32_t node)
{
	return &tree->frames.items[tree->nodes[node].frame];
}

/* Return the n_events counts of a node. */
static inline const struct vmop_count *vmop_call_tree_self(const struct vmop_call_tree *tree,
							   uint32_t node)
{
	return tree->selfs + node * tree->n_events;
}

static inline const struct vmop_count *vmop_call_tree_total(const struct vmop_call_tree *tree,
							    uint32_t node)
{
	return tree->totals + node * tree->n_events;
}

/*
 * Return the node after `node` in depth-first order, parents first and siblings by weight, or 0
 * after the last one.  Begin with 0.  *depth is the depth of node (0: the root) and then of the
 * returned one.
 */
uint32_t vmop_call_tree_next(const struct vmop_call_tree *tree, uint32_t node, size_t *depth);

#endif
