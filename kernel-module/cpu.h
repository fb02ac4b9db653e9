/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The work on each CPU for its own buffer. Xen sends VIRQ_XENOPROF for a user or kernel sample
 * while the sampled task still runs. For a sample in Xen itself it sends nothing. Such a sample
 * belongs to the task for which Xen worked, so the buffer is also drained at each task switch, and
 * by a timer.
 *
 * All code that touches a CPU's buffer and ring runs on that CPU with interrupts off. No other
 * locking exists.
 */
#ifndef VMOP_CPU_H
#define VMOP_CPU_H

#include "buffer.h"
#include "ring.h"

/* Find the tracepoint of task switches, once. */
void vmop_cpus_init(void);
bool vmop_cpus_follow_tasks(void);

/*
 * Serve own's buffers on all CPUs, also on later ones, into the rings of the same number. Sets
 * *failed_step on error. A later CPU that cannot be served is logged.
 */
int vmop_cpus_start(struct vmop_buffers *own, struct vmop_rings *rings, u32 poll_ms,
		    int *failed_step);
/* Drain all CPUs for the last time. own and rings are not used afterwards. */
void vmop_cpus_stop(void);
/* Drain all CPUs before returning. */
void vmop_cpus_drain(void);

u64 vmop_cpus_interrupts(void);

#endif
