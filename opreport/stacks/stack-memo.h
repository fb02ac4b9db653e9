// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where in a call tree the stacks of a session are, as far as they were looked up.  A cache of
 * bounded size: when it is full, it begins anew.
 */
#ifndef VMOP_OPREPORT_STACKS_STACK_MEMO_H
#define VMOP_OPREPORT_STACKS_STACK_MEMO_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"

/* Beside enum vmop_stack_end: the session does not define the stack. */
#define VMOP_STACK_END_DAMAGED UINT16_MAX

struct vmop_stack_place {
	uint32_t node;	/* of the call tree */
	uint16_t end;	/* enum vmop_stack_end, or VMOP_STACK_END_DAMAGED */
	uint16_t depth; /* frames down to the node, without groups and the end */
};

struct vmop_stack_memo_entry {
	uint32_t group_node, stack; /* stack 0: empty */
	struct vmop_stack_place place;
};

/* A zeroed memo is empty. */
struct vmop_stack_memo {
	struct vmop_stack_memo_entry *entries;
	size_t n, capacity; /* capacity: a power of two */
	uint64_t seed;
};

#define VMOP_STACK_MEMO_MAX_BYTES ((size_t)128 << 20)

/* Set *ret to the place of a stack below a group's node; false: not known.  stack is not 0. */
bool vmop_stack_memo_find(const struct vmop_stack_memo *memo, uint32_t group_node, uint32_t stack,
			  struct vmop_stack_place *ret);

/* Store the place of a stack that vmop_stack_memo_find does not find. */
struct vmop_error *vmop_stack_memo_put(struct vmop_stack_memo *memo, uint32_t group_node,
				       uint32_t stack, struct vmop_stack_place place);

/* Forget all places; keeps the memory. */
void vmop_stack_memo_clear(struct vmop_stack_memo *memo);
void vmop_stack_memo_deinit(struct vmop_stack_memo *memo);

#endif
