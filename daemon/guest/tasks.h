// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tasks of one guest that got samples: processes of its snapshots with the ids
 * that they have in the session.
 */
#ifndef VMOP_DAEMON_GUEST_TASKS_H
#define VMOP_DAEMON_GUEST_TASKS_H

#include <stdint.h>

#include "daemon/guest/view.h"
#include "daemon/host/task.h"
#include "libguest/guest.h"

struct vmop_guest_task;

struct vmop_guest_tasks_table {
	uint32_t domain;
	struct vmop_tasks *tasks;
	struct vmop_guest_task *by_start; /* uthash, by pid and start time */
};

void vmop_guest_tasks_table_init(struct vmop_guest_tasks_table *table, uint32_t domain,
				 struct vmop_tasks *tasks);
/* Tasks that wait to be stored stay until they are. */
void vmop_guest_tasks_table_deinit(struct vmop_guest_tasks_table *table);

/*
 * The id of process, new if need be; exe: the file of a sample in it, taken for what
 * it executes until another is known.  0: out of memory.
 */
struct vmop_task_id vmop_guest_tasks_table_id(struct vmop_guest_tasks_table *table,
					      const struct vmop_guest_process *process,
					      struct vmop_image *exe);

/* The guest's idle task, of all its vCPUs. 0: out of memory. */
struct vmop_task_id vmop_guest_tasks_table_idle(struct vmop_guest_tasks_table *table);

/* Forgets those that are in neither of view's lists. */
void vmop_guest_tasks_table_sweep(struct vmop_guest_tasks_table *table,
				  const struct vmop_guest_view *view);

#endif
