// SPDX-License-Identifier: GPL-2.0-or-later
/* Select samples by the functions in their stacks. */
#ifndef VMOP_OPREPORT_STACKS_STACK_FILTER_H
#define VMOP_OPREPORT_STACKS_STACK_FILTER_H

#include <stdbool.h>
#include <stdint.h>

#include "opreport/query/spec.h"
#include "opreport/stacks/frame.h"

/*
 * Globs of symbols.  Each list that is not empty must match: `any` some function of the stack, the
 * interrupted one included; `caller` some caller of the interrupted function; `callee` the
 * interrupted function.
 */
struct vmop_stack_filter {
	const struct vmop_words *any, *caller, *callee; /* NULL: empty */
};

/* The lists that a frame, or some frame of a stack, matches. */
enum vmop_stack_match {
	VMOP_MATCHES_ANY = 1 << 0,
	VMOP_MATCHES_CALLER = 1 << 1,
	VMOP_MATCHES_CALLEE = 1 << 2,
};

bool vmop_stack_filter_is_empty(const struct vmop_stack_filter *filter);

/* Return bits of enum vmop_stack_match: the lists with a glob of the frame's name. */
uint8_t vmop_stack_filter_match(const struct vmop_stack_filter *filter, struct vmop_result *result,
				struct vmop_frame *frame);

/* Return whether a sample passes: callers has the bits of all its callers, leaf its function's. */
bool vmop_stack_filter_passes(const struct vmop_stack_filter *filter, uint8_t callers,
			      uint8_t leaf);

#endif
