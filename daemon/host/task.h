// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tasks as rows of a session: a process, or a thread with VMOP_SEPARATE_THREAD, under one name. A
 * task gets its id and its row with its first sample. A process that executes a program or changes
 * its name becomes a new task, so that earlier samples keep the earlier name.
 */
#ifndef VMOP_DAEMON_HOST_TASK_H
#define VMOP_DAEMON_HOST_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/host/ids.h"
#include "libdb/db.h"
#include "libutil/procfs.h"

struct vmop_image;
struct vmop_images;

/* A text that several processes share. */
struct vmop_text {
	uint32_t refs;
	char text[];
};

struct vmop_text *vmop_text_new(const char *text); /* NULL: out of memory */
static inline struct vmop_text *vmop_text_ref(struct vmop_text *text)
{
	if (text)
		text->refs++;
	return text;
}
void vmop_text_unref(struct vmop_text *text); /* NULL is allowed */

struct vmop_task {
	struct vmop_task_id id; /* number 0: no samples yet */
	struct vmop_domain_id domain;
	uint32_t pid, tid; /* tid 0: the whole process */
	uint64_t start_ns; /* CLOCK_MONOTONIC; 0 not known */
	char comm[VMOP_COMM_BYTES];
	struct vmop_image *exe;	       /* referenced; NULL: none or not known */
	struct vmop_text *cgroup;      /* NULL: not known */
	bool is_current;	       /* of a live process, which /proc still has */
	bool is_over;		       /* no more samples will come */
	bool is_alone;		       /* in a block of its own, freed after its store */
	bool is_grouped;	       /* id is the id of its group in this interval */
	uint32_t n_grouped;	       /* of a group: its number of tasks; 0: no group */
	struct vmop_task *prev, *next; /* in the list of pending or grouped tasks */
};

/*
 * Groups: while many short-lived tasks come and go, the samples of tasks that begin have one id for
 * each command until the interval ends. So the aggregate's tables stay in the cache, and few
 * cells need sorting and storing. Tasks of more commands than this have their own ids.
 */
#define VMOP_TASK_GROUPS_MAX 64

/* Ended tasks that wait for their store. Samples of more tasks name a task without a row. */
#define VMOP_TASKS_ALONE_MAX 65536

struct vmop_tasks {
	struct vmop_task *pending; /* with an id and no row; a list of utlist.h */
	/* The ids of ended tasks whose rows lack the end. */
	struct vmop_task_row_id *ended;
	size_t n_ended, max_ended;
	uint32_t n_alone;	   /* pending tasks in blocks of their own */
	bool groups_tasks;	   /* in this interval */
	uint32_t interval;	   /* number of stored intervals */
	struct vmop_task *grouped; /* tasks with the id of a group */
	struct vmop_task groups[VMOP_TASK_GROUPS_MAX];
	uint32_t n_groups;
	uint32_t next_id;
	struct vmop_images *images;
};

/*
 * End task under its present name. The next task, without id, takes its place with the same pid,
 * tid, start and cgroup.
 */
void vmop_task_renew(struct vmop_tasks *tasks, struct vmop_task *task);

/* Set the program of task. Takes over exe's reference. */
void vmop_task_set_exe(struct vmop_tasks *tasks, struct vmop_task *task, struct vmop_image *exe);

/* End task and release its references. It must not be pending. */
void vmop_task_deinit(struct vmop_tasks *tasks, struct vmop_task *task);

/* Free the memory of the table. */
void vmop_tasks_deinit(struct vmop_tasks *tasks);

/*
 * Forget the pending and the ended tasks, after their store or at the end of all. A task that was
 * stored in another task's row loses its id.
 */
struct vmop_short_lived; /* short-lived.h */
void vmop_tasks_stored(struct vmop_tasks *tasks, const struct vmop_short_lived *short_lived);

static inline bool vmop_task_is_pending(const struct vmop_task *task)
{
	return task->prev != NULL; /* utlist: the first one's prev is the last */
}

/* Give task an id and add it to the pending tasks. */
void vmop_task_append(struct vmop_tasks *tasks, struct vmop_task *task);

/* Fill in the row of task, except its times. The row points into task. */
void vmop_task_describe(const struct vmop_task *task, struct vmop_db_task *ret);

/*
 * Give task the id of the group of its domain, exe, cgroup and comm, if there is room. On the
 * per-sample path.
 */
void vmop_task_group(struct vmop_tasks *tasks, struct vmop_task *task);

/* Return the id of task, after giving it one if it has none. On the per-sample path. */
static inline struct vmop_task_id vmop_task_id(struct vmop_tasks *tasks, struct vmop_task *task)
{
	if (!task->id.number)
		vmop_task_append(tasks, task);
	return task->id;
}

#endif
