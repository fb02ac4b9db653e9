// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * DWARF expressions (DWARF 5, section 2.5.1) over a frame's registers and the captured stack. They
 * are untrusted: the number of operations and the depth of the stack are bounded. (libunwind writes
 * beyond its stack for some expressions.)
 */
#ifndef VMOP_LIBSTACK_EXPRESSION_H
#define VMOP_LIBSTACK_EXPRESSION_H

#include "libstack/frame.h"

/* An expression, and the frame and stack that it may read. */
struct vmop_expression {
	const uint8_t *bytes;
	size_t len_bytes;
	const struct vmop_frame *frame;
	const struct vmop_stack_copy *copy;
};

/*
 * Evaluate an expression with n_initial values, 0 or 1, on its stack. False: it is damaged, needs a
 * register that is not known, or memory outside the copy; then *ret_fault is the address, else 0.
 */
bool vmop_expression_evaluate(const struct vmop_expression *expression, uint64_t initial,
			      size_t n_initial, uint64_t *ret, uint64_t *ret_fault);

#endif
