// SPDX-License-Identifier: GPL-2.0-or-later
#include <endian.h>
#include <string.h>

#include "libstack/kernel/calls.h"
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

/* A call has 4 bytes; the return address may be the next function's start. */
enum { CALL_BYTES = 4, BL = 0x25, BL_SHIFT = 26 };

/* Return whether the instruction before link is a call of the function (Arm ARM, C6.2: BL). */
static bool calls(const struct vmop_kernel_text *text, uint64_t link, uint64_t function)
{
	uint32_t instruction;
	const uint8_t *code = text->code(text->arg, link - CALL_BYTES, CALL_BYTES);
	if (!code)
		return false;
	memcpy(&instruction, code, sizeof(instruction));
	instruction = le32toh(instruction);
	/* 26 bits of words, with a sign. */
	int64_t words = (int32_t)(instruction << (32 - BL_SHIFT)) >> (32 - BL_SHIFT);
	return instruction >> BL_SHIFT == BL &&
	       link - CALL_BYTES + (uint64_t)(words * CALL_BYTES) == function;
}

enum vmop_kernel_link
vmop_frame_records_add_link(const struct vmop_kernel_regs *regs, unsigned va_bits,
			    const struct vmop_kernel_text *text, struct vmop_stack_frame *frames,
			    size_t max_frames, struct vmop_kernel_unwound *ret)
{
	struct vmop_kernel_function here, caller;
	uint64_t link = strip(regs->link, va_bits);
	bool is_kernels = regs->link >> 55 & 1;
	if (!is_kernels || max_frames < 2 || (ret->n_frames > 1 && frames[1].address == link) ||
	    !text->find_function(text->arg, regs->pc, &here) ||
	    !text->find_function(text->arg, link - CALL_BYTES, &caller) ||
	    here.start == caller.start)
		return VMOP_KERNEL_LINK_NONE;
	if (ret->n_frames == max_frames) {
		ret->n_frames--;
		ret->end = VMOP_STACK_DEPTH_LIMIT;
	}
	memmove(&frames[2], &frames[1], (ret->n_frames - 1) * sizeof(*frames));
	frames[1] = (struct vmop_stack_frame){.address = link};
	ret->n_frames++;
	return calls(text, link, here.start) ? VMOP_KERNEL_LINK_CERTAIN : VMOP_KERNEL_LINK_LIKELY;
}
