// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The guest's threads, and where those that do not run were switched out (kernel:
 * include/linux/sched.h; arch/x86/include/asm/switch_to.h, struct inactive_task_frame;
 * arch/arm64/include/asm/processor.h, struct cpu_context).
 *
 * The guest runs meanwhile. A thread counts as read only if its counts of context switches are the
 * same before and after.
 *
 * Thread: as for the vmop_guest that is read.
 */
#ifndef VMOP_LIBGUEST_TASKS_THREADS_H
#define VMOP_LIBGUEST_TASKS_THREADS_H

#include "libguest/types.h"

struct vmop_error;
struct vmop_guest_kernel;
struct vmop_layout;

/* Return whether the layout suffices to read threads with their stacks. */
bool vmop_layout_has_threads(const struct vmop_layout *layout, bool is_arm64);

/* Return the size of a kernel stack (THREAD_SIZE) in bytes. */
uint32_t vmop_guest_stack_bytes(const struct vmop_guest_kernel *kernel);

/*
 * As vmop_guest_each_new_wait() in guest.h; is_known NULL: no thread is known. *retries counts
 * repeated reads.
 */
struct vmop_error *vmop_guest_threads_read(struct vmop_guest_kernel *kernel,
					   const struct vmop_layout *layout,
					   vmop_guest_known_fn *is_known,
					   vmop_guest_thread_fn *visit, void *arg,
					   uint64_t *retries, size_t *ret_torn);

/* As vmop_guest_switches() in guest.h. */
bool vmop_guest_threads_switches(struct vmop_guest_kernel *kernel, const struct vmop_layout *layout,
				 uint64_t *ret);

/* As vmop_guest_thread_waits() in guest.h. The layout suffices (vmop_layout_has_threads). */
bool vmop_guest_thread_still_waits(struct vmop_guest_kernel *kernel,
				   const struct vmop_layout *layout, uint64_t task,
				   uint64_t switches);

#endif
