// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks of a Linux kernel that is looked into from outside: what the unwinders of ORC (orc.h) and
 * of arm64's frame records share.
 */
#ifndef VMOP_LIBSTACK_KERNEL_UNWIND_H
#define VMOP_LIBSTACK_KERNEL_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libstack/unwind.h"

struct vmop_kernel_text;

/* The kernel's memory, of which unwinding reads only stacks. */
struct vmop_kernel_memory {
	/* Read len_bytes at an address of the kernel. Return false if they are not there. */
	bool (*read)(void *arg, uint64_t address, void *buf, size_t len_bytes);
	void *arg;
};

struct vmop_kernel_regs {
	uint64_t pc, sp;
	uint64_t fp; /* rbp or x29 */
	/*
	 * pc is an instruction that was interrupted. Else it is the address to which a switched
	 * task returns.
	 */
	bool is_interrupted;
	/* x86-64, for code that keeps its stack in another register: in interrupted code only. */
	bool has_others;
	uint64_t r10, r13, di, dx;
	uint64_t link; /* x30: in interrupted arm64 code only */
};

/* The registers with which user code entered the kernel, as far as unwinding needs them. */
struct vmop_kernel_entry {
	bool is_known;
	uint64_t address; /* of the kernel's struct pt_regs */
	uint64_t pc, sp, fp;
};

struct vmop_kernel_unwound {
	size_t n_frames; /* innermost first; frame 0 is regs.pc */
	/*
	 * VMOP_STACK_COMPLETE: at the registers of user code, or at the start of a kernel thread;
	 * VMOP_STACK_DEPTH_LIMIT, VMOP_STACK_NO_CFI, VMOP_STACK_COPY_SHORT (a read failed) or
	 * VMOP_STACK_TORN.
	 */
	enum vmop_stack_end end;
	struct vmop_kernel_entry entry;
};

/* The frame records of an arm64 kernel. */
struct vmop_frame_records {
	unsigned va_bits; /* of kernel addresses, to remove pointer authentication codes */
	/*
	 * The offset in struct pt_regs of the word behind the record of an entry, which states
	 * whether user code was interrupted or the kernel (stackframe.type, from Linux 6.13 on), or
	 * 0 for earlier kernels, in which that record has the interrupted kernel code's address.
	 */
	uint32_t kind_at;
};

/*
 * Unwind the stack of an arm64 kernel by its frame records: pairs of the caller's record and the
 * return address (Procedure Call Standard for the Arm 64-bit Architecture, 6.2.3), which end with a
 * pair of zeros (kernel: arch/arm64/kernel/stacktrace.c). Arguments as for vmop_orc_unwind.
 */
void vmop_frame_records_unwind(const struct vmop_kernel_regs *regs,
			       const struct vmop_frame_records *records,
			       const struct vmop_kernel_memory *memory,
			       struct vmop_stack_frame *frames, size_t max_frames,
			       struct vmop_kernel_unwound *ret);

/*
 * Add the caller that only the link register has, as that of a leaf function without a frame, and
 * of any function before it stores its own: an address in another function, which is not the first
 * record's. `frames` and `ret` are a result of vmop_frame_records_unwind for the same regs, whose
 * pc was interrupted. A function that calls itself is taken to have its frame.
 */
enum vmop_kernel_link {
	VMOP_KERNEL_LINK_NONE,	  /* no frame was added */
	VMOP_KERNEL_LINK_LIKELY,  /* the register may have any value */
	VMOP_KERNEL_LINK_CERTAIN, /* the frame's code calls this function */
};
enum vmop_kernel_link vmop_frame_records_add_link(const struct vmop_kernel_regs *regs,
						  const struct vmop_frame_records *records,
						  const struct vmop_kernel_text *text,
						  struct vmop_stack_frame *frames,
						  size_t max_frames,
						  struct vmop_kernel_unwound *ret);

/*
 * Unwind the stack of an x86-64 kernel that was built with frame pointers
 * (CONFIG_UNWINDER_FRAME_POINTER; kernel: arch/x86/kernel/unwind_frame.c). A frame pointer with its
 * lowest bit set is the address of the registers that an entry into the kernel saved. Arguments as
 * for vmop_orc_unwind.
 */
void vmop_kernel_frame_pointers_unwind(const struct vmop_kernel_regs *regs,
				       const struct vmop_kernel_memory *memory,
				       struct vmop_stack_frame *frames, size_t max_frames,
				       struct vmop_kernel_unwound *ret);

#endif
