// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The path from a call tree's root to a node, while the tree is walked depth-first.  A
 * recursive function is there several times, and its samples must count once.
 */
#ifndef VMOP_OPREPORT_STACKS_CALL_PATH_H
#define VMOP_OPREPORT_STACKS_CALL_PATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"
#include "opreport/stacks/stack-reader.h"

/*
 * Nodes on a path: groups, a word, the followed frames, the function itself, and as many inlined
 * functions as there are frames.
 */
#define VMOP_CALL_PATH_MAX (2 * VMOP_STACK_FOLLOWED_MAX + 16)

/* Items are small numbers of the owner's choice.  A zeroed path is empty. */
struct vmop_call_path {
	uint32_t *counts; /* by item: how often it is on the path */
	size_t capacity;
	size_t n; /* depth */
	uint32_t items[VMOP_CALL_PATH_MAX];
};

#define VMOP_NO_ITEM UINT32_MAX

/*
 * Leave the items at `depth` and below, and enter item there; VMOP_NO_ITEM: nothing that counts.
 * *ret_is_first is true if item is not on the path above.  depth is at most the present depth.
 * VMOP_ERROR_LIMIT: it is VMOP_CALL_PATH_MAX or more.
 */
struct vmop_error *vmop_call_path_enter(struct vmop_call_path *path, size_t depth, uint32_t item,
					bool *ret_is_first);
void vmop_call_path_deinit(struct vmop_call_path *path);

#endif
