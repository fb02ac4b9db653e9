// SPDX-License-Identifier: GPL-2.0-or-later
/* Count for each row of a query the samples in it or below it: its inclusive total. */
#ifndef VMOP_OPREPORT_STACKS_INCLUSIVE_H
#define VMOP_OPREPORT_STACKS_INCLUSIVE_H

#include "opreport/stacks/call-tree.h"

/* Return the options of the tree that vmop_inclusive_add needs for rows of these dimensions. */
struct vmop_call_tree_options vmop_inclusive_tree(unsigned dimensions);

/*
 * Set result->below, and add rows for code without own samples that called some.  A sample counts
 * once in a row, even if its stack is in the row's code several times.  tree is of this result, and
 * finished.  Rows that were read from result before are invalid afterwards.
 */
struct vmop_error *vmop_inclusive_add(struct vmop_result *result,
				      const struct vmop_call_tree *tree);

#endif
