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

/* Registers in struct user_pt_regs, the first part of struct pt_regs. */
enum { REGS_FP = 29, REGS_PC = 32, N_REGS = 34 };

/* The word behind a pair of zeros (kernel: arch/arm64/include/asm/stacktrace/frame.h). */
enum { KIND_FINAL = 1, KIND_PT_REGS = 2 };

/* A walk along the records. */
struct walk {
	const struct vmop_frame_records *records;
	const struct vmop_kernel_memory *memory;
	struct vmop_stack_frame *frames;
	size_t max_frames;
	struct vmop_kernel_unwound *unwound;
	uint64_t at; /* of the record */
	int changes_left;
};

/* Add a frame, whose caller's record is at next. Return false if the walk ends there. */
static bool add_frame(struct walk *walk, uint64_t address, bool is_interrupted, uint64_t next)
{
	struct vmop_kernel_unwound *unwound = walk->unwound;
	if (unwound->n_frames == walk->max_frames) {
		unwound->end = VMOP_STACK_DEPTH_LIMIT;
		return false;
	}
	walk->frames[unwound->n_frames++] =
		(struct vmop_stack_frame){.address = strip(address, walk->records->va_bits),
					  .is_interrupted = is_interrupted};
	if (next <= walk->at && !walk->changes_left--)
		return false;
	walk->at = next;
	return true;
}

/* Step from an entry's record to the code that it interrupted. Return false if the walk ends. */
static bool step_by_entry(struct walk *walk)
{
	uint64_t kind = KIND_FINAL, regs[N_REGS], kind_address = walk->at + sizeof(struct record);
	if (walk->records->kind_at &&
	    !walk->memory->read(walk->memory->arg, kind_address, &kind, sizeof(kind))) {
		walk->unwound->end = VMOP_STACK_COPY_SHORT;
		return false;
	}
	if (kind == KIND_FINAL)
		walk->unwound->end = VMOP_STACK_COMPLETE;
	if (kind != KIND_PT_REGS)
		return false;
	if (!walk->memory->read(walk->memory->arg, kind_address - walk->records->kind_at, regs,
				sizeof(regs))) {
		walk->unwound->end = VMOP_STACK_COPY_SHORT;
		return false;
	}
	return add_frame(walk, regs[REGS_PC], true, regs[REGS_FP]);
}

/* Step to the next record. Return false if the walk ends. */
static bool step(struct walk *walk)
{
	struct record record;
	/* The record of a kernel thread's start has no next one before Linux 5.11. */
	if (!walk->at && walk->unwound->n_frames > 1)
		walk->unwound->end = VMOP_STACK_COMPLETE;
	if (!walk->at || walk->at % 8)
		return false;
	if (!walk->memory->read(walk->memory->arg, walk->at, &record, sizeof(record))) {
		walk->unwound->end = VMOP_STACK_COPY_SHORT;
		return false;
	}
	if (record.return_address)
		return add_frame(walk, record.return_address, false, record.next);
	return !record.next && step_by_entry(walk);
}

void vmop_frame_records_unwind(const struct vmop_kernel_regs *regs,
			       const struct vmop_frame_records *records,
			       const struct vmop_kernel_memory *memory,
			       struct vmop_stack_frame *frames, size_t max_frames,
			       struct vmop_kernel_unwound *ret)
{
	struct walk walk = {
		.records = records,
		.memory = memory,
		.frames = frames,
		.max_frames = max_frames,
		.unwound = ret,
		.at = regs->fp,
		.changes_left = STACK_CHANGES_MAX,
	};
	*ret = (struct vmop_kernel_unwound){.n_frames = 1, .end = VMOP_STACK_TORN};
	frames[0] = (struct vmop_stack_frame){.address = regs->pc,
					      .is_interrupted = regs->is_interrupted};
	while (step(&walk))
		;
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

enum vmop_kernel_link vmop_frame_records_add_link(const struct vmop_kernel_regs *regs,
						  const struct vmop_frame_records *records,
						  const struct vmop_kernel_text *text,
						  struct vmop_stack_frame *frames,
						  size_t max_frames,
						  struct vmop_kernel_unwound *ret)
{
	struct vmop_kernel_function here, caller;
	uint64_t link = strip(regs->link, records->va_bits);
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
