// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The call stack in a sample: the callchain, the user registers and the copy of the user stack,
 * which follow the fixed part of a sample in this order (enum perf_event_type in
 * linux/perf_event.h). They are read in place. The record is not trusted: every count and size is
 * checked against the record's own.
 */
#ifndef VMOP_HV_INTERFACE_PERF_STACKS_CAPTURE_H
#define VMOP_HV_INTERFACE_PERF_STACKS_CAPTURE_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vmop/stack.h"

/*
 * The registers that unwinding needs, one bit for each as in this machine's asm/perf_regs.h, and
 * their number. x86-64: ax to ip, and r8 to r15. arm64: x0 to x30, sp, pc. 0: another machine,
 * whose user stacks are not copied.
 */
#if defined(__x86_64__)
#define VMOP_PERF_USER_REGS UINT64_C(0xff01ff)
#define VMOP_PERF_N_USER_REGS 17u
#elif defined(__aarch64__)
#define VMOP_PERF_USER_REGS UINT64_C(0x1ffffffff)
#define VMOP_PERF_N_USER_REGS 33u
#else
#define VMOP_PERF_USER_REGS UINT64_C(0)
#define VMOP_PERF_N_USER_REGS 0u
#endif

/* The parts of a sample that this file decodes. */
#define VMOP_PERF_SAMPLE_STACKS                                                                    \
	((uint64_t)(PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER))

struct vmop_perf_capture {
	bool is_here;			 /* the sample has a stack */
	struct vmop_stack_capture stack; /* points into the record and to user_regs */
	uint64_t user_regs[VMOP_USER_REGS];
};

/*
 * Decode the parts in sample_type, which begin at_bytes after the start of the record. max_frames
 * is the request's sample_max_stack. Set ret->is_here. Return the offset of their end, or 0 for a
 * malformed record.
 */
size_t vmop_perf_capture_decode(uint64_t sample_type, uint32_t max_frames,
				const struct perf_event_header *header, size_t at_bytes,
				struct vmop_perf_capture *ret);

#endif
