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
	uint32_t n_sweeps;
};

void vmop_guest_tasks_table_init(struct vmop_guest_tasks_table *table, struct vmop_domain_id domain,
				 struct vmop_tasks *tasks);
/* A task that is not stored yet stays until it is. */
void vmop_guest_tasks_table_deinit(struct vmop_guest_tasks_table *table);

/* A process of a sample, from a list of processes or from the sample's context. */
struct vmop_guest_task_facts {
	uint32_t pid;
	uint64_t start_time_ns; /* on the guest's clock */
	const char *comm;
	const char *cgroup;	 /* NULL or "": not known */
	struct vmop_image *file; /* the file of a user sample; NULL: none */
};

/*
 * Return the id of a process, and add it if it is new; 0: out of memory.  Its executable is the
 * first sampled file with the name of the process, else the first one that is no shared library,
 * else the first one.
 */
struct vmop_task_id vmop_guest_tasks_table_id(struct vmop_guest_tasks_table *table,
					      const struct vmop_guest_task_facts *facts);

/* Return the id of the guest's idle task, one for all vCPUs; 0: out of memory. */
struct vmop_task_id vmop_guest_tasks_table_idle(struct vmop_guest_tasks_table *table);

/*
 * Remove the processes that are in neither of view's lists and had no sample since the last two
 * sweeps: a process can end before it is listed.
 */
void vmop_guest_tasks_table_sweep(struct vmop_guest_tasks_table *table,
				  const struct vmop_guest_view *view);

#endif
