// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The boxes of a flame graph: which nodes of a call tree it shows, and where.
 *
 * A box is as wide as its node's share of the root's total, and lies below its caller's.  Boxes
 * narrower than a bound are not shown; if there are still too many, the narrowest are not shown
 * either.  What is not shown below a caller is one box at the caller's right end.
 */
#ifndef VMOP_OPREPORT_STACKS_FLAME_LAYOUT_H
#define VMOP_OPREPORT_STACKS_FLAME_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"
#include "opreport/stacks/call-tree.h"

struct vmop_flame_box {
	uint32_t node;
	uint32_t n_summed;  /* 0: the box is the node's; else it is of so many children of it */
	size_t depth;	    /* 0: the root */
	double left, width; /* shares of the picture, 0 to 1 */
	struct vmop_count count;
};

struct vmop_flame_layout_options {
	size_t event;	  /* slot */
	double min_width; /* share of the picture */
	/* Return the bytes that a node's box takes in the picture. */
	size_t (*cost)(void *arg, uint32_t node);
	void *arg;
	size_t max_bytes; /* of all boxes */
};

/* Callers come before their callees, as in the tree. */
struct vmop_flame_layout {
	struct vmop_flame_box *boxes; /* n */
	size_t n, capacity;
	size_t max_depth;
	size_t n_hidden; /* nodes with samples of the event that have no box of their own */
};

/* Lay out a finished tree.  The caller deinitialises ret also after an error. */
struct vmop_error *vmop_flame_layout_init(struct vmop_flame_layout *ret,
					  const struct vmop_call_tree *tree,
					  const struct vmop_flame_layout_options *options);
void vmop_flame_layout_deinit(struct vmop_flame_layout *layout);

#endif
