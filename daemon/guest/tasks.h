// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tasks of one guest that have samples: processes of its snapshots, with their ids in the
 * session.
 */
#ifndef VMOP_DAEMON_GUEST_TASKS_H
#define VMOP_DAEMON_GUEST_TASKS_H

#include <stdint.h>

#include "daemon/guest/view.h"
#include "daemon/host/task.h"
#include "libguest/guest.h"

struct vmop_guest_task;

struct vmop_guest_tasks_table {
	struct vmop_domain_id domain;
	struct vmop_tasks *tasks;
	struct vmop_guest_task *by_start; /* uthash, by pid and start time */
};

void vmop_guest_tasks_table_init(struct vmop_guest_tasks_table *table, struct vmop_domain_id domain,
				 struct vmop_tasks *tasks);
/* A task that is not stored yet stays until it is. */
void vmop_guest_tasks_table_deinit(struct vmop_guest_tasks_table *table);

/*
 * Return the id of process, and add it if it is new; 0: out of memory.  exe: the file of a sample
 * of the process, which counts as its executable until another is known; NULL: none.
 */
struct vmop_task_id vmop_guest_tasks_table_id(struct vmop_guest_tasks_table *table,
					      const struct vmop_guest_process *process,
					      struct vmop_image *exe);

/* Return the id of the guest's idle task, one for all vCPUs; 0: out of memory. */
struct vmop_task_id vmop_guest_tasks_table_idle(struct vmop_guest_tasks_table *table);

/* Remove the processes that are in neither of view's lists. */
void vmop_guest_tasks_table_sweep(struct vmop_guest_tasks_table *table,
				  const struct vmop_guest_view *view);

#endif
