// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The functions of a guest's kernel by which every thread gives up its CPU. They are the innermost
 * frames of each waiting thread, whatever it waits for. The thread waits in their caller.
 *
 * A function such as __mutex_lock, which shows what the thread waits for, is not among them. The
 * kernel has both kinds in one section (kernel: include/linux/sched/debug.h, __sched).
 */
#ifndef VMOP_DAEMON_GUEST_OFF_CPU_SCHEDULER_CODE_H
#define VMOP_DAEMON_GUEST_OFF_CPU_SCHEDULER_CODE_H

#include <stddef.h>
#include <stdint.h>

#include "libguest/guest.h"
#include "libstack/unwind.h"

#define VMOP_SCHEDULER_FUNCTIONS 16

struct vmop_scheduler_code {
	struct {
		uint64_t start, end;
	} at[VMOP_SCHEDULER_FUNCTIONS];
	size_t n;
};

/* Find the functions of a kernel whose symbols have not been dropped. */
void vmop_scheduler_code_find(struct vmop_guest *guest, struct vmop_scheduler_code *ret);

/* Return how many of n innermost frames to skip: less than n, or 0 without frames. */
size_t vmop_scheduler_code_skip(const struct vmop_scheduler_code *code,
				const struct vmop_stack_frame *frames, size_t n);

#endif
