// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel stack of a sample whose stack pointer is not known: VMX keeps it where a sample's
 * handler can't read it. The search tries each position in the stacks. A position is possible if
 * the chain of ORC (orc.h) from there comes to the registers of the user code that entered the
 * kernel, or to the start of a kernel thread, and if each return address follows a call. The search
 * compares possible positions in this order:
 *
 * 1. The fewest calls of functions that can't be the next frame's.
 * 2. The innermost call names its function: it is not by a pointer.
 * 3. The fewest calls by a pointer that are doubtful: of a function that is only called by its
 *    name, or that this caller also calls by its name, or of one that has called this chain.
 * 4. The lowest address, because a chain from a higher one leaves frames out.
 *
 * Remains of earlier calls lie below the stack pointer. A chain from there joins the living frames
 * where a living call is by a pointer, hence 3.
 *
 * The result is likely, not certain: measured on real stacks, 99 % are right.
 */
#ifndef VMOP_LIBSTACK_KERNEL_SEARCH_H
#define VMOP_LIBSTACK_KERNEL_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libstack/kernel/calls.h"
#include "libstack/kernel/unwind.h"

struct vmop_orc;

enum { VMOP_KERNEL_SEARCH_RANGES = 4 };

struct vmop_kernel_search {
	const struct vmop_orc *orc;
	struct vmop_kernel_regs regs; /* all but the stack pointer */
	struct vmop_kernel_memory memory;
	const struct vmop_kernel_text *text;
	/* The stacks, by rising address, which memory reads. */
	struct {
		uint64_t start, end;
	} stacks[VMOP_KERNEL_SEARCH_RANGES];
	size_t n_stacks;
	/*
	 * False: the sample may be on a stack that is not among them, as that of interrupts. Then a
	 * position with calls that can't be right is not taken.
	 */
	bool has_all_stacks;
	/*
	 * How the stack ends: with the registers of user code that has this pc and sp, or, if
	 * has_user is false, at the start of a kernel thread.
	 */
	bool has_user;
	uint64_t user_pc, user_sp;
};

struct vmop_kernel_searcher;

struct vmop_error *vmop_kernel_searcher_create(struct vmop_kernel_searcher **ret);
void vmop_kernel_searcher_destroy(struct vmop_kernel_searcher *searcher); /* NULL is allowed */

/* Forget the facts about a text, because it was replaced. */
void vmop_kernel_searcher_reset(struct vmop_kernel_searcher *searcher);

struct vmop_kernel_found {
	uint64_t sp;
	uint32_t n_possible;   /* positions */
	uint32_t n_mismatches; /* calls of the chosen one that can't be right */
	bool is_certain;       /* the innermost frame does not need the stack pointer */
};

/*
 * Search, and unwind from the position found into frames[0..max_frames), max_frames being at least
 * 1. Return false, with ret->end VMOP_STACK_NOT_RECORDED and one frame, if no position is possible.
 * Work is bounded; allocates nothing.
 */
bool vmop_kernel_search(struct vmop_kernel_searcher *searcher,
			const struct vmop_kernel_search *search, struct vmop_stack_frame *frames,
			size_t max_frames, struct vmop_kernel_unwound *ret,
			struct vmop_kernel_found *ret_found);

#endif
