// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Call stacks: what a source captures beside a sample, and how a stack ends.
 *
 * A session stores stacks as a tree. A node is a frame, its parent is the caller's node, and the
 * node below which a stack has no more callers is an end mark. An end mark has no image and no
 * parent; its offset is the enum vmop_stack_end with the reason why the stack ends there. A sample
 * refers to the node of its caller; its own address, the leaf, stays in its cell.
 */
#ifndef VMOP_STACK_H
#define VMOP_STACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vmop/guest-context.h"

/* The reason why a stack has no more callers. Stored in session files: append, never renumber. */
enum vmop_stack_end {
	VMOP_STACK_END_UNKNOWN = 0,
	VMOP_STACK_COMPLETE = 1,     /* the entry point or the thread's start was reached */
	VMOP_STACK_DEPTH_LIMIT = 2,  /* more frames than the session's depth limit */
	VMOP_STACK_COPY_SHORT = 3,   /* the stack goes on beyond the bytes that were copied */
	VMOP_STACK_NO_CFI = 4,	     /* code without unwind information, nor frame pointers */
	VMOP_STACK_UNREADABLE = 5,   /* the unwind information could not be read */
	VMOP_STACK_TORN = 6,	     /* the stack's content contradicts the unwind information */
	VMOP_STACK_NOT_RECORDED = 7, /* the user part was not asked for, or the kernel refused it */
	VMOP_STACK_TABLE_LATE = 8,   /* unwind tables were not ready when the interval was stored */
	VMOP_STACK_TOO_MANY = 9,     /* the interval had more new stacks than vmopd keeps */
	VMOP_STACK_OUTDATED = 10,    /* the kernel unwound it by mappings that were replaced */
};
#define VMOP_N_STACK_ENDS 11

/* The default depth limit, and the largest that a user can ask for: frames of kernel and user. */
#define VMOP_STACK_FRAMES_MAX 127

/* The ways to capture the call stacks of the host's samples. */
enum vmop_stack_mode {
	VMOP_STACKS_OFF = 0,
	VMOP_STACKS_KERNEL, /* kernel frames only */
	VMOP_STACKS_FP, /* kernel frames, and user frames that the kernel finds by frame pointers */
	VMOP_STACKS_CFI,    /* kernel frames, user registers and a copy of the user stack */
	VMOP_STACKS_BPF,    /* user frames found in the kernel by unwind tables, else as with CFI */
	VMOP_STACKS_DEFER,  /* user frames found by the kernel at the return to user mode */
	VMOP_STACKS_HANDED, /* as the KVM host of this guest unwound them; no set-up asks for it */
};

/*
 * The bytes of each user stack that are copied: the default, and the largest size, which the kernel
 * limits (PERF_SAMPLE_STACK_USER: below 64 KiB and a multiple of 8).
 */
#define VMOP_USER_STACK_BYTES (16u << 10)
#define VMOP_USER_STACK_BYTES_MAX ((64u << 10) - 8)

/* A request for stacks, or what the source made of it. */
struct vmop_stack_options {
	enum vmop_stack_mode mode;
	uint32_t user_stack_bytes; /* with CFI and BPF: a multiple of 8 */
	uint32_t max_frames;	   /* frames of kernel and user: 1..VMOP_STACK_FRAMES_MAX */
	/*
	 * A request for CFI: the source may choose BPF where copies of stacks would fill too much
	 * memory in a second.
	 */
	bool may_use_bpf;
};

/*
 * User registers in the machine's DWARF numbering.
 * x86-64 (System V psABI, figure 3.36): 0 rax, 1 rdx, 2 rcx, 3 rbx, 4 rsi, 5 rdi, 6 rbp, 7 rsp,
 * 8-15 r8-r15, 16 rip.
 * arm64 (DWARF for the Arm 64-bit Architecture, 4.1): 0-30 x0-x30, 31 sp, 32 pc.
 */
#define VMOP_USER_REGS 33

/*
 * A flag in a user frame's address: the address is that of an instruction which a signal
 * interrupted, not a return address. No user address has this bit.
 */
#define VMOP_USER_FRAME_INTERRUPTED (UINT64_C(1) << 63)

/*
 * The stack and registers that a source captured at the instant of a sample. The source owns the
 * memory; it is valid until the sink returns. Stacks and registers are untrusted: any value can be
 * in them.
 */
struct vmop_stack_capture {
	/*
	 * Addresses in the kernel, innermost first: the interrupted one, then return addresses.
	 */
	const uint64_t *kernel_frames;
	size_t n_kernel_frames;
	/*
	 * Addresses in user code that the kernel unwound (frame pointers, BPF, deferred callchain),
	 * or this guest's host, innermost first: the interrupted one, or that of the system call,
	 * then return addresses.
	 */
	const uint64_t *user_frames;
	size_t n_user_frames;
	/*
	 * Why user_frames ends; UNKNOWN: the kernel does not report it. Without user frames, and if
	 * not UNKNOWN: why there are none, or why kernel_frames ends.
	 */
	enum vmop_stack_end user_end;
	/*
	 * With BPF: the generation of the mappings by which the kernel unwound user_frames
	 * (vmop_unwind_maps_put_process). 0: by other means. If not 0, VMOP_USER_FRAME_INTERRUPTED
	 * may be set in user_frames after the first.
	 */
	uint64_t user_generation;
	/*
	 * Not 0: the user frames come later, in a VMOP_RECORD_USER_CHAIN with this cookie.
	 */
	uint64_t user_cookie;
	/* VMOP_USER_REGS registers; NULL: none, as in kernel threads and 32-bit programs. */
	const uint64_t *user_regs;
	/* The bytes from the stack pointer in user_regs upwards; may be NULL. */
	const uint8_t *user_stack;
	size_t user_stack_bytes;
	/*
	 * Bytes that were asked for. Less in user_stack_bytes: the stack's mapping ended there, or
	 * the next page was not in memory.
	 */
	size_t user_stack_asked_bytes;
	bool is_compat; /* a 32-bit program on a 64-bit kernel: its stack is not unwound */
	/*
	 * The state of the vCPU, with its windows behind it: only in a guest's sample and in a
	 * VMOP_RECORD_GUEST_STATE. Then everything above is unset. NULL: not captured.
	 */
	const struct vmop_guest_context *guest;
};

#endif
