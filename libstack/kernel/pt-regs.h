// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The registers that an entry into an x86-64 kernel saves on the stack, for the unwinders of
 * kernels: struct pt_regs in arch/x86/include/asm/ptrace.h, as indexes of 8 bytes.
 */
#ifndef VMOP_LIBSTACK_KERNEL_PT_REGS_H
#define VMOP_LIBSTACK_KERNEL_PT_REGS_H

#include "libstack/kernel/unwind.h"

enum vmop_pt_reg {
	VMOP_PT_R13 = 2,
	VMOP_PT_BP = 4,
	VMOP_PT_R10 = 7,
	VMOP_PT_DX = 12,
	VMOP_PT_DI = 14,
	VMOP_PT_IP = 16,
	VMOP_PT_CS = 17,
	VMOP_PT_SP = 19,
	VMOP_PT_REGS = 21,
};

/* Read a little-endian number. Return false if it is not there. */
bool vmop_kernel_memory_u64(const struct vmop_kernel_memory *memory, uint64_t address,
			    uint64_t *ret);

/*
 * Read the struct pt_regs at address. Set *ret to the interrupted code's registers, and *ret_entry,
 * whose is_known is whether this code is a user's. Return false if they are not there.
 */
bool vmop_kernel_saved_regs(const struct vmop_kernel_memory *memory, uint64_t address,
			    struct vmop_kernel_regs *ret, struct vmop_kernel_entry *ret_entry);

#endif
