// SPDX-License-Identifier: GPL-2.0-or-later
#include "libstack/frame.h"

#include <elf.h>

/*
 * The signal frame of arm64 (Linux, arch/arm64/kernel/signal.c: struct rt_sigframe): siginfo_t of
 * 128 bytes, which is filled only for handlers with SA_SIGINFO; then struct ucontext (uapi
 * asm/ucontext.h), which has struct sigcontext at 176: fault_address, x0-x30, sp, pc, pstate, and
 * at its next multiple of 16 further records, whose first one is struct fpsimd_context (uapi
 * asm/sigcontext.h): 32 bits of magic, 32 bits of its size. The vDSO's trampoline has no CFI since
 * Linux 5.8.
 */
enum {
	UC_FLAGS = 128,
	UC_LINK = 136,
	SIGCONTEXT_REGS = 128 + 176 + 8,
	FPSIMD_CONTEXT = 128 + 176 + 288,
};
#define FPSIMD_HEADER (UINT64_C(528) << 32 | 0x46508001)

static bool is_signal_frame(const struct vmop_stack_copy *copy, uint64_t sp)
{
	uint64_t flags, link, fpsimd;
	if (sp % 16 || !vmop_stack_copy_read(copy, sp + UC_FLAGS, &flags) ||
	    !vmop_stack_copy_read(copy, sp + UC_LINK, &link) ||
	    !vmop_stack_copy_read(copy, sp + FPSIMD_CONTEXT, &fpsimd))
		return false;
	return flags == 0 && link == 0 && fpsimd == FPSIMD_HEADER;
}

#define AT(n) (SIGCONTEXT_REGS + (n)*8)

const struct vmop_machine vmop_machine_arm64 = {
	.elf_machine = EM_AARCH64,
	.n_regs = 33,
	.sp = 31,
	.fp = 29,
	.pc = 32,
	.extra = VMOP_NO_REGISTER,
	.link = 30,
	/* x19-x29, sp, pc */
	.callee_saved = UINT64_C(0x7ff) << 19 | UINT64_C(3) << 31,
	.signal_regs = {AT(0),	AT(1),	AT(2),	AT(3),	AT(4),	AT(5),	AT(6),	AT(7),	AT(8),
			AT(9),	AT(10), AT(11), AT(12), AT(13), AT(14), AT(15), AT(16), AT(17),
			AT(18), AT(19), AT(20), AT(21), AT(22), AT(23), AT(24), AT(25), AT(26),
			AT(27), AT(28), AT(29), AT(30), AT(31), AT(32)},
	.is_signal_frame = is_signal_frame,
	.signs_addresses = true,
};
