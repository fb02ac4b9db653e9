// SPDX-License-Identifier: GPL-2.0-or-later
#include "libstack/kernel/pt-regs.h"
#include "libstack/kernel/unwind.h"

/* The stack changes from an exception's or interrupt's to a task's; more often than this, it lies.
 */
enum { STACK_CHANGES_MAX = 8 };

/* A frame pointer that is the address of saved registers (kernel: ENCODE_FRAME_POINTER). */
#define IS_SAVED_REGS UINT64_C(1)

struct walk {
	const struct vmop_kernel_memory *memory;
	struct vmop_kernel_regs regs;
	int changes_left;
	struct vmop_kernel_unwound *ret;
};

/* Go to the caller's frame. Return false at the last frame, with the reason in ret->end. */
static bool step(struct walk *walk)
{
	uint64_t at = walk->regs.fp, next;
	struct vmop_kernel_unwound *ret = walk->ret;
	ret->end = VMOP_STACK_TORN;
	if (!at) { /* below the first function of a kernel thread */
		ret->end = VMOP_STACK_COMPLETE;
		return false;
	}
	if (at & IS_SAVED_REGS) {
		if (!vmop_kernel_saved_regs(walk->memory, at & ~IS_SAVED_REGS, &walk->regs,
					    &ret->entry)) {
			ret->end = VMOP_STACK_COPY_SHORT;
			return false;
		}
		/* A kernel thread that never was in user code has only zeros there. */
		if (ret->entry.is_known || !walk->regs.pc)
			ret->end = VMOP_STACK_COMPLETE;
		return ret->end != VMOP_STACK_COMPLETE && walk->changes_left-- > 0;
	}
	if (at % 8)
		return false;
	struct vmop_kernel_regs caller = {.sp = at + 16};
	if (!vmop_kernel_memory_u64(walk->memory, at, &next) ||
	    !vmop_kernel_memory_u64(walk->memory, at + 8, &caller.pc)) {
		ret->end = VMOP_STACK_COPY_SHORT;
		return false;
	}
	caller.fp = next;
	walk->regs = caller;
	return next > at || !next || walk->changes_left-- > 0;
}

void vmop_kernel_frame_pointers_unwind(const struct vmop_kernel_regs *regs,
				       const struct vmop_kernel_memory *memory,
				       struct vmop_stack_frame *frames, size_t max_frames,
				       struct vmop_kernel_unwound *ret)
{
	struct walk walk = {
		.memory = memory, .regs = *regs, .changes_left = STACK_CHANGES_MAX, .ret = ret};
	*ret = (struct vmop_kernel_unwound){0};
	do {
		if (ret->n_frames == max_frames) {
			ret->end = VMOP_STACK_DEPTH_LIMIT;
			return;
		}
		frames[ret->n_frames++] = (struct vmop_stack_frame){
			.address = walk.regs.pc, .is_interrupted = walk.regs.is_interrupted};
	} while (step(&walk));
}
