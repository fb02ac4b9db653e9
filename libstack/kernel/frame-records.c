// SPDX-License-Identifier: GPL-2.0-or-later
#include <string.h>

#include "libstack/kernel/unwind.h"

/* A stack may continue at a lower address a few times: from an interrupt's stack to a task's. */
enum { STACK_CHANGES_MAX = 4 };

struct record {
	uint64_t next, return_address;
};

/* Return a kernel address without its pointer authentication code (kernel: ptrauth_strip). */
static uint64_t strip(uint64_t address, unsigned va_bits)
{
	return address | ~(uint64_t)0 << va_bits;
}

void vmop_frame_records_unwind(const struct vmop_kernel_regs *regs, unsigned va_bits,
			       const struct vmop_kernel_memory *memory,
			       struct vmop_stack_frame *frames, size_t max_frames,
			       struct vmop_kernel_unwound *ret)
{
	uint64_t at = regs->fp;
	int changes_left = STACK_CHANGES_MAX;
	*ret = (struct vmop_kernel_unwound){.n_frames = 1, .end = VMOP_STACK_TORN};
	frames[0] = (struct vmop_stack_frame){.address = regs->pc,
					      .is_interrupted = regs->is_interrupted};
	for (;;) {
		struct record record;
		/* The record of a kernel thread's start has no next one before Linux 5.11. */
		if (!at && ret->n_frames > 1)
			ret->end = VMOP_STACK_COMPLETE;
		if (!at || at % 8)
			return;
		if (!memory->read(memory->arg, at, &record, sizeof(record))) {
			ret->end = VMOP_STACK_COPY_SHORT;
			return;
		}
		if (!record.return_address) {
			if (!record.next)
				ret->end = VMOP_STACK_COMPLETE;
			return;
		}
		if (ret->n_frames == max_frames) {
			ret->end = VMOP_STACK_DEPTH_LIMIT;
			return;
		}
		frames[ret->n_frames++] =
			(struct vmop_stack_frame){.address = strip(record.return_address, va_bits)};
		if (record.next <= at && !changes_left--)
			return;
		at = record.next;
	}
}
