// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A frame while a stack is unwound, the copy of the stack that it lies in, and what differs between
 * machines. Internal to libstack: unwind.c steps from frame to frame, machine-*.c have the layouts
 * of the machines, entry-step.h steps by raw CFI.
 */
#ifndef VMOP_LIBSTACK_FRAME_H
#define VMOP_LIBSTACK_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "vmop/stack.h"

/* The captured bytes of a stack. Untrusted: the stack pointer can have any value. */
struct vmop_stack_copy {
	const uint8_t *bytes;
	size_t len_bytes;
	uint64_t start; /* the address of bytes[0]: the stack pointer at the capture */
	bool is_full;	/* as many bytes as were asked for: the stack may go on above */
};

/*
 * Set *ret to the word at address. False: it is not wholly inside the copy. Differences wrap around
 * at 2^64, so that an address below the copy is a large offset.
 */
static inline bool vmop_stack_copy_read(const struct vmop_stack_copy *copy, uint64_t address,
					uint64_t *ret)
{
	uint64_t offset = address - copy->start;
	if (copy->len_bytes < sizeof(*ret) || offset > copy->len_bytes - sizeof(*ret))
		return false;
	memcpy(ret, copy->bytes + offset, sizeof(*ret));
	return true;
}

struct vmop_frame {
	uint64_t regs[VMOP_USER_REGS]; /* DWARF numbers: see vmop/stack.h */
	uint64_t known;		       /* bit N: regs[N] has the frame's value */
	uint64_t floor;		       /* the frame ends above this address */
	bool is_interrupted; /* regs[pc] is an interrupted instruction, not a return address */
	bool is_by_fp;	     /* found by frame pointers */
};

static inline bool vmop_frame_knows(const struct vmop_frame *frame, unsigned reg)
{
	return reg < VMOP_USER_REGS && (frame->known >> reg & 1);
}

/* Return the address that belongs to the frame's code: a return address is behind its call. */
static inline uint64_t vmop_frame_code_address(const struct vmop_frame *frame, unsigned pc)
{
	return frame->regs[pc] - !frame->is_interrupted;
}

enum { VMOP_NO_REGISTER = 0xff };

struct vmop_machine {
	uint16_t elf_machine; /* EM_ */
	uint8_t n_regs, sp, fp, pc;
	uint8_t extra;	       /* the register of rules' extra_saved; or VMOP_NO_REGISTER */
	uint8_t link;	       /* has the return address in leaf functions; or VMOP_NO_REGISTER */
	uint64_t callee_saved; /* bits of registers that a call does not change, with sp and pc */
	/*
	 * The kernel's signal frame: the place of each register's value in the interrupted code, in
	 * bytes above the stack pointer of the trampoline.
	 */
	uint16_t signal_regs[VMOP_USER_REGS];
	/*
	 * Return whether the kernel's signal frame is at sp: for trampolines without CFI. The
	 * check is about fields that the kernel always fills in the same way.
	 */
	bool (*is_signal_frame)(const struct vmop_stack_copy *copy, uint64_t sp);
	/*
	 * A frame pointer points to the saved frame pointer and the return address. True: both end
	 * the frame, so that the caller's stack pointer is known.
	 */
	bool record_is_at_end;
	/* Return addresses may carry a pointer authentication code in their upper bits. */
	bool signs_addresses;
};

extern const struct vmop_machine vmop_machine_x86_64, vmop_machine_arm64;

#endif
