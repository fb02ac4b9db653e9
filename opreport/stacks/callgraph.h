// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Callgraph: each function with its callers and callees, as OProfile's opreport --callgraph shows
 * it.  A sample counts once in a function and once in an arc, even if the function is in its stack
 * several times.
 */
#ifndef VMOP_OPREPORT_STACKS_CALLGRAPH_H
#define VMOP_OPREPORT_STACKS_CALLGRAPH_H

#include "opreport/stacks/call-tree.h"

/* A caller and a callee; numbers of frames. */
struct vmop_call_arc {
	uint32_t caller, callee;
	const struct vmop_count *counts; /* n_events: samples with this call in their stack */
};

struct vmop_function {
	uint32_t frame;
	const struct vmop_count *self;	/* n_events */
	const struct vmop_count *total; /* n_events: it, or functions that it called */
	/* [first, first + n) of the callgraph's by_callee and by_caller, descending by weight. */
	size_t first_caller, n_callers;
	size_t first_callee, n_callees;
};

struct vmop_callgraph {
	const struct vmop_call_tree *tree;
	struct vmop_function *functions; /* n_functions: code only, in the order of the frames */
	size_t n_functions;
	struct vmop_call_arc *arcs; /* n_arcs */
	size_t n_arcs, arcs_capacity;
	uint32_t *by_callee, *by_caller; /* n_arcs: indices of arcs */
	struct vmop_count *frame_counts; /* by frame: n_events selfs, then n_events totals */
	struct vmop_count *arc_counts;	 /* by arc: n_events */
	uint32_t *buckets;		 /* of arcs: index + 1; 0: empty */
	size_t n_buckets;
};

/*
 * Make the callgraph of a finished tree without groups, which must outlive it.  A word such as
 * "[copy too small]" can be a caller, but is no function.  The caller deinitialises it also after
 * an error.
 */
struct vmop_error *vmop_callgraph_init(struct vmop_callgraph *callgraph,
				       const struct vmop_call_tree *tree);
void vmop_callgraph_deinit(struct vmop_callgraph *callgraph);

#endif
