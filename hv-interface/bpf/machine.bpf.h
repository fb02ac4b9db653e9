// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The registers of user code and the kernel's signal frames on x86-64 and arm64, for the BPF
 * program. The layouts are those in libstack/machine-*.c, whose comments name the sources; struct
 * pt_regs is that of the machine's asm/ptrace.h, and at the top of a task's kernel stack too.
 */
#ifndef VMOP_HV_INTERFACE_BPF_MACHINE_BPF_H
#define VMOP_HV_INTERFACE_BPF_MACHINE_BPF_H

enum { N_REGISTERS = 64 }; /* DWARF numbers, rounded up so that a mask bounds an index */

static __always_inline bool read_word(uint64_t address, uint64_t *ret)
{
	return bpf_probe_read_user(ret, sizeof(*ret), (const void *)address) == 0;
}

#if defined(__TARGET_ARCH_x86)
enum {
	FP = 6,
	SP = 7,
	PC = 16,
	HAS_LINK = 0, /* no register has a return address */
	LINK = 0,
	RECORD_IS_AT_END = 1, /* a frame pointer's record ends the frame */
	SIGNAL_FP = 40 + 80,
	SIGNAL_SP = 40 + 120,
	SIGNAL_PC = 40 + 128,
	SIGNAL_LINK = 0,
	USER_CS = 0x33,
	XEN_USER_CS = 0xe033, /* in a PV domain */
	UC_LINK = 8,
	UC_CS = 40 + 144,
	UC_FLAGS_KNOWN = 7,
};
typedef struct pt_regs task_regs;

static __always_inline bool is_user_cs(uint64_t cs)
{
	cs &= 0xffff;
	return cs == USER_CS || cs == XEN_USER_CS;
}

static __always_inline bool is_in_user_mode(const struct bpf_perf_event_data *ctx)
{
	return (ctx->regs.cs & 3) == 3;
}

static __always_inline bool are_of_program(const task_regs *regs)
{
	return is_user_cs(regs->cs);
}

/*
 * Return whether the kernel may be saving the task's registers right now: the stack pointer is
 * among them (perf_get_regs_user in arch/x86/kernel/perf_regs.c).
 */
static __always_inline bool are_being_saved(const struct bpf_perf_event_data *ctx, uint64_t at)
{
	uint64_t sp = ctx->regs.rsp;
	return sp > at + offsetof(task_regs, r11) && sp <= at + sizeof(task_regs);
}

#define COPY_REGISTERS(from, to)                                                                   \
	do {                                                                                       \
		(to)[0] = (from)->rax;                                                             \
		(to)[1] = (from)->rdx;                                                             \
		(to)[2] = (from)->rcx;                                                             \
		(to)[3] = (from)->rbx;                                                             \
		(to)[4] = (from)->rsi;                                                             \
		(to)[5] = (from)->rdi;                                                             \
		(to)[6] = (from)->rbp;                                                             \
		(to)[7] = (from)->rsp;                                                             \
		(to)[8] = (from)->r8;                                                              \
		(to)[9] = (from)->r9;                                                              \
		(to)[10] = (from)->r10;                                                            \
		(to)[11] = (from)->r11;                                                            \
		(to)[12] = (from)->r12;                                                            \
		(to)[13] = (from)->r13;                                                            \
		(to)[14] = (from)->r14;                                                            \
		(to)[15] = (from)->r15;                                                            \
		(to)[16] = (from)->rip;                                                            \
	} while (0)

static __always_inline bool is_signal_frame(uint64_t sp)
{
	uint64_t flags, link, segments;
	return read_word(sp + UC_CS, &segments) && is_user_cs(segments) && read_word(sp, &flags) &&
	       !(flags & ~(uint64_t)UC_FLAGS_KNOWN) && read_word(sp + UC_LINK, &link) && link == 0;
}

static __always_inline uint64_t strip_code(uint64_t address, unsigned bits)
{
	(void)bits;
	return address;
}

#elif defined(__TARGET_ARCH_arm64)
enum {
	FP = 29,
	SP = 31,
	PC = 32,
	HAS_LINK = 1,
	LINK = 30,
	RECORD_IS_AT_END = 0,
	SIGNAL_REGS = 128 + 176 + 8,
	SIGNAL_FP = SIGNAL_REGS + 29 * 8,
	SIGNAL_LINK = SIGNAL_REGS + 30 * 8,
	SIGNAL_SP = SIGNAL_REGS + 31 * 8,
	SIGNAL_PC = SIGNAL_REGS + 32 * 8,
	UC_FLAGS = 128,
	UC_LINK = 136,
	UC_FPSIMD = 128 + 176 + 288,
};
#define FPSIMD_HEADER (UINT64_C(528) << 32 | 0x46508001)
typedef struct user_pt_regs task_regs;

/* Return whether pstate is that of EL0 in a 64-bit program. */
static __always_inline bool is_user_pstate(uint64_t pstate)
{
	return (pstate & 0x1f) == 0;
}

static __always_inline bool is_in_user_mode(const struct bpf_perf_event_data *ctx)
{
	return (ctx->regs.pstate & 0xf) == 0;
}

static __always_inline bool are_of_program(const task_regs *regs)
{
	return is_user_pstate(regs->pstate);
}

static __always_inline bool are_being_saved(const struct bpf_perf_event_data *ctx, uint64_t at)
{
	(void)ctx;
	(void)at;
	return false;
}

#define COPY_REGISTERS(from, to)                                                                   \
	do {                                                                                       \
		_Pragma("unroll") for (int number = 0; number < 31; number++)(to)[number] =        \
			(from)->regs[number];                                                      \
		(to)[31] = (from)->sp;                                                             \
		(to)[32] = (from)->pc;                                                             \
	} while (0)

static __always_inline bool is_signal_frame(uint64_t sp)
{
	uint64_t flags, link, fpsimd;
	return sp % 16 == 0 && read_word(sp + UC_FLAGS, &flags) && flags == 0 &&
	       read_word(sp + UC_LINK, &link) && link == 0 && read_word(sp + UC_FPSIMD, &fpsimd) &&
	       fpsimd == FPSIMD_HEADER;
}

/* Remove a pointer authentication code: it is above the bits of user addresses. */
static __always_inline uint64_t strip_code(uint64_t address, unsigned bits)
{
	return address & ((UINT64_C(1) << bits) - 1);
}

#else
#error "a machine whose registers the program does not have"
#endif

#endif
