/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What is done on each CPU for its own buffer: Xen tells of a user or kernel sample by
 * VIRQ_XENOPROF while the task that it hit still runs. Of a sample in Xen itself it does
 * not tell: such a sample belongs to the task for which Xen worked, so the buffer is looked at
 * whenever a CPU changes from one task to another, and by a timer.
 *
 * Everything that touches a CPU's buffer and ring runs on that CPU with interrupts off,
 * which is all the locking there is.
 */
#ifndef VMOP_CPU_H
#define VMOP_CPU_H

#include "buffer.h"
#include "ring.h"

/* Finds the tracepoint of task switches, once. */
void vmop_cpus_init(void);
bool vmop_cpus_follow_tasks(void);

/*
 * Serves own's buffers on all CPUs, also those that come later, into the rings of the same
 * number. *failed_step says what failed. A CPU that comes later and can't be served is logged.
 */
int vmop_cpus_start(struct vmop_buffers *own, struct vmop_rings *rings, u32 poll_ms,
		    int *failed_step);
/* Takes out what is left. Afterwards nothing of own and rings is used. */
void vmop_cpus_stop(void);
/* Takes out what is there, on all CPUs, before it returns. */
void vmop_cpus_drain(void);

u64 vmop_cpus_interrupts(void);

#endif
