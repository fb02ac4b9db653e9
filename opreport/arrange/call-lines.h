// SPDX-License-Identifier: GPL-2.0-or-later
/* Select and sort the lines of a callgraph or a call tree that a report shows. */
#ifndef VMOP_OPREPORT_ARRANGE_CALL_LINES_H
#define VMOP_OPREPORT_ARRANGE_CALL_LINES_H

#include "opreport/arrange/rows.h"
#include "opreport/stacks/call-tree.h"
#include "opreport/stacks/callgraph.h"

enum vmop_call_role {
	VMOP_CALL_FUNCTION, /* the function of a block of a callgraph */
	VMOP_CALL_CALLER,   /* above it */
	VMOP_CALL_CALLEE,   /* below it */
	VMOP_CALL_FRAME,    /* a node of a tree */
	VMOP_CALL_BLANK,    /* between two blocks */
};

struct vmop_call_line {
	enum vmop_call_role role;
	uint32_t frame;	   /* undefined in a blank line */
	uint32_t function; /* of a caller's or callee's block: frame; else as frame */
	/* In a tree: levels above; nodes above that have siblings; whether this one has some. */
	uint32_t depth, n_branches;
	bool is_branch;
	/* n_events each; self NULL: the line has none; base: 100 % of total */
	const struct vmop_count *total, *self, *base;
};

struct vmop_call_lines {
	struct vmop_call_line *items; /* n */
	size_t n, capacity;
	size_t n_hidden; /* functions, or subtrees, below the threshold or after the first --top */
	size_t n_beyond; /* functions after max_lines; 1: frames of a tree */
};

/*
 * List the blocks of a callgraph: for each function its callers, itself and its callees.  Of the
 * arrangement's keys only sample, symbol and image are sorted by; `sample` is by own samples, then
 * by total.  The threshold hides functions by their total, and callers and callees by their share
 * of it.  with_blanks separates blocks.  No function is VMOP_ERROR_NOT_FOUND.  The caller
 * deinitialises ret also after an error; it refers to callgraph and result.
 */
struct vmop_error *vmop_call_lines_of_graph(struct vmop_call_lines *ret,
					    const struct vmop_callgraph *callgraph,
					    const struct vmop_arrangement *arrangement,
					    bool with_blanks);

/*
 * List the nodes of a finished tree, a line each, without subtrees below the threshold.  with_self
 * shows own samples, too.  Otherwise as above.
 */
struct vmop_error *vmop_call_lines_of_tree(struct vmop_call_lines *ret,
					   const struct vmop_call_tree *tree,
					   const struct vmop_arrangement *arrangement,
					   bool with_self);
void vmop_call_lines_deinit(struct vmop_call_lines *lines);

#endif
