// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The call stacks of a guest's waiting threads, read from its memory: what each thread that does
 * not run waits for, like the kernel's own list (sysrq-t), for a guest that can't answer any more
 * or a saved image of it.
 *
 * Thread: that of the vmop_guest.
 */
#ifndef VMOP_DAEMON_GUEST_STACKS_WAITING_STACKS_H
#define VMOP_DAEMON_GUEST_STACKS_WAITING_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "libguest/guest.h"
#include "libstack/kernel/unwind.h"
#include "libutil/error.h"

struct vmop_guest_orc_tables;

struct vmop_waiting_thread {
	const struct vmop_guest_thread *thread;
	/*
	 * In the kernel, innermost first. Without frames the thread runs, has exited, was torn, or
	 * is known to the caller.
	 */
	const struct vmop_stack_frame *frames;
	struct vmop_kernel_unwound unwound;
	/* The registers of the user code that entered the kernel; none in kernel threads. */
	bool has_user_regs;
	uint64_t user_regs[VMOP_USER_REGS];
};

/* A visitor of threads; false ends the iteration. thread is valid only during the call. */
typedef bool vmop_waiting_thread_fn(const struct vmop_waiting_thread *thread, void *arg);

struct vmop_waiting_cost {
	size_t n_threads, n_torn;
	uint64_t tables_cpu_ns;	 /* to read ORC tables, once */
	uint64_t threads_cpu_ns; /* to read and unwind all threads, with visit's own time */
};

/*
 * Call visit for each thread of a guest whose kernel was found. *ret_cost may be NULL.
 * VMOP_ERROR_NOT_FOUND: the kernel has no unwind tables or struct offsets that vmop can read.
 */
struct vmop_error *vmop_waiting_stacks_each(struct vmop_guest *guest, vmop_waiting_thread_fn *visit,
					    void *arg, struct vmop_waiting_cost *ret_cost);

/*
 * The same for a caller that reads again and again, by tables that it keeps. Threads for which
 * is_known returns true have not moved since they were read: visit gets them without frames
 * (vmop_guest_each_new_wait).
 */
struct vmop_error *vmop_waiting_stacks_each_new(struct vmop_guest *guest,
						const struct vmop_guest_orc_tables *tables,
						vmop_guest_known_fn *is_known,
						vmop_waiting_thread_fn *visit, void *arg,
						size_t *ret_torn);

#endif
