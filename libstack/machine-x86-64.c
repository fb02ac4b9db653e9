// SPDX-License-Identifier: GPL-2.0-or-later
#include "libstack/frame.h"

#include <elf.h>

/*
 * The signal frame of x86-64 (Linux, arch/x86/include/asm/sigframe.h: struct rt_sigframe). At the
 * trampoline its first word, the return address, has been popped, and the stack pointer points to
 * struct ucontext (uapi asm-generic/ucontext.h): flags, link, stack_t, and at 40 struct sigcontext.
 */
enum {
	UC_FLAGS = 0,
	UC_LINK = 8,
	SIGCONTEXT = 40,
	SIGCONTEXT_CS = SIGCONTEXT + 144, /* cs, gs, fs, ss: 16 bits each */
	UC_FLAGS_KNOWN = 0x7,		  /* UC_FP_XSTATE, UC_SIGCONTEXT_SS, UC_STRICT_RESTORE_SS */
	USER_CS = 0x33,
	XEN_USER_CS = 0xe033, /* in a PV domain (Xen, public/arch-x86/xen-x86_64.h) */
};

static bool is_signal_frame(const struct vmop_stack_copy *copy, uint64_t sp)
{
	uint64_t flags, link, segments;
	if (!vmop_stack_copy_read(copy, sp + SIGCONTEXT_CS, &segments))
		return false;
	segments &= 0xffff;
	return (segments == USER_CS || segments == XEN_USER_CS) &&
	       vmop_stack_copy_read(copy, sp + UC_FLAGS, &flags) && !(flags & ~UC_FLAGS_KNOWN) &&
	       vmop_stack_copy_read(copy, sp + UC_LINK, &link) && link == 0;
}

const struct vmop_machine vmop_machine_x86_64 = {
	.elf_machine = EM_X86_64,
	.n_regs = 17,
	.sp = 7,
	.fp = 6,
	.pc = 16,
	.extra = 3,
	.link = VMOP_NO_REGISTER,
	/* rbx, rbp, rsp, r12-r15, rip */
	.callee_saved = 1U << 3 | 1U << 6 | 1U << 7 | 0xfU << 12 | 1U << 16,
	/* rax, rdx, rcx, rbx, rsi, rdi, rbp, rsp, r8-r15, rip in struct sigcontext */
	.signal_regs = {SIGCONTEXT + 104, SIGCONTEXT + 96, SIGCONTEXT + 112, SIGCONTEXT + 88,
			SIGCONTEXT + 72, SIGCONTEXT + 64, SIGCONTEXT + 80, SIGCONTEXT + 120,
			SIGCONTEXT + 0, SIGCONTEXT + 8, SIGCONTEXT + 16, SIGCONTEXT + 24,
			SIGCONTEXT + 32, SIGCONTEXT + 40, SIGCONTEXT + 48, SIGCONTEXT + 56,
			SIGCONTEXT + 128},
	.is_signal_frame = is_signal_frame,
	.record_is_at_end = true,
};
