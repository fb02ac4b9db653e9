// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Two call trees as one flame graph: its boxes are those of the second side, coloured by their
 * difference from the first.  Nodes are joined by the names on their path from the root, as rows
 * are (routine.h).  Stacks that only the first side has are not drawn, but counted.
 */
#ifndef VMOP_OPREPORT_COMPARE_FLAME_DIFFERENCE_H
#define VMOP_OPREPORT_COMPARE_FLAME_DIFFERENCE_H

#include "opreport/compare/comparison.h"
#include "opreport/compare/difference.h"
#include "opreport/stacks/call-tree.h"
#include "opreport/stacks/flame-tint.h"

struct vmop_flame_difference {
	const struct vmop_comparison *comparison;
	size_t event;		       /* of the comparison */
	struct vmop_tally paths;       /* counts of each path, by side */
	size_t *path_of;	       /* by the second tree's node: index in paths, or SIZE_MAX */
	struct vmop_count gone;	       /* of the first side: in stacks that the second one lacks */
	struct vmop_arena arena;       /* names */
	struct vmop_flame_tints tints; /* for struct vmop_tree_output_options */
};

/*
 * Join the finished trees of sides 0 and 1, which have samples of the event.  comparison and the
 * trees must outlive ret, and ret must not move.  The caller deinitialises ret also after an error.
 */
struct vmop_error *vmop_flame_difference_init(struct vmop_flame_difference *ret,
					      const struct vmop_comparison *comparison,
					      size_t event, struct vmop_call_tree *trees[2]);
void vmop_flame_difference_deinit(struct vmop_flame_difference *difference);

/* Return the difference of the second tree's node; of unknown numbers if there is no room for it.
 */
struct vmop_difference vmop_flame_difference_of(const struct vmop_flame_difference *difference,
						uint32_t node);

#endif
