// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The guest's tasks: struct task_struct from init_task on, their mm_structs
 * and mappings (kernel: include/linux/sched.h, include/linux/mm_types.h).
 */
#ifndef VMOP_LIBGUEST_TASKS_PROCESSES_H
#define VMOP_LIBGUEST_TASKS_PROCESSES_H

#include "libguest/types.h"

struct vmop_guest_files;
struct vmop_guest_kernel;
struct vmop_guest_snapshot;
struct vmop_layout;

/*
 * As vmop_guest_snapshot_processes(); *retries counts what was read again.
 * A process that does not hold together after some tries is left out.
 */
struct vmop_error *vmop_guest_processes_read(struct vmop_guest_kernel *kernel,
					     const struct vmop_layout *layout,
					     struct vmop_guest_files *files, unsigned int flags,
					     uint64_t *retries, struct vmop_guest_snapshot **ret);

/* As vmop_guest_current_tasks(). */
struct vmop_error *vmop_guest_processes_current(struct vmop_guest_kernel *kernel,
						const struct vmop_layout *layout,
						struct vmop_guest_current *ret, size_t max,
						size_t *ret_count);

#endif
