// SPDX-License-Identifier: GPL-2.0-or-later
/* Turn a call tree upside down: from the interrupted functions to their callers. */
#ifndef VMOP_OPREPORT_STACKS_INVERSE_TREE_H
#define VMOP_OPREPORT_STACKS_INVERSE_TREE_H

#include "opreport/stacks/call-tree.h"

/*
 * Set *ret to a finished tree of the same samples: below the groups of `tree` come the interrupted
 * functions, and below each node its callers.  A stack's end is below its outermost caller.
 * Functions with less than threshold_percent of base[0..n_events), in samples of their own and of
 * every event, get no callers, which saves most of the time. `tree` is
 * finished.  The caller deinitialises ret also after an error.
 */
struct vmop_error *vmop_inverse_tree_init(struct vmop_call_tree *ret,
					  const struct vmop_call_tree *tree,
					  const struct vmop_count *base, double threshold_percent);

#endif
