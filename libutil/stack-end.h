// SPDX-License-Identifier: GPL-2.0-or-later
/* The ends of call stacks (vmop/stack.h) in words: for reports, logs and replies. */
#ifndef VMOP_LIBUTIL_STACK_END_H
#define VMOP_LIBUTIL_STACK_END_H

#include <stdint.h>
#include <stdio.h>

#include "vmop/stack.h"

/* Return "complete", "copy too small" and the like, for any value. */
const char *vmop_stack_end_text(unsigned end);

/* Return the same for programs: "complete", "copy_short", ... */
const char *vmop_stack_end_word(unsigned end);

/*
 * Print the shares of the ends: "98.2 % complete, 1.8 % copy too small". n_by_end: the number of
 * stacks with each end. n_others: stacks of another kind, which are only part of the total.
 */
void vmop_stack_ends_print(FILE *out, const uint64_t n_by_end[VMOP_N_STACK_ENDS],
			   uint64_t n_others);

#endif
