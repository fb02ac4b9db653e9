// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A task as a session knows it: a process (or thread, where those are kept
 * apart) under one name.  It gets its id, and its row, with its first sample;
 * executing a program or taking another name makes a new task of it, so that
 * earlier samples keep the name they were taken under.
 */
#ifndef VMOP_DAEMON_HOST_TASK_H
#define VMOP_DAEMON_HOST_TASK_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/host/ids.h"
#include "daemon/host/procfs.h"
#include "libdb/db.h"

struct vmop_image;
struct vmop_images;

/* A text that processes share. */
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
	struct vmop_task_id id; /* number 0: no samples so far */
	uint32_t domain;	/* whose task it is */
	uint32_t pid, tid;	/* tid 0: the whole process */
	uint64_t start_ns;	/* CLOCK_MONOTONIC; 0 not known */
	char comm[VMOP_COMM_BYTES];
	struct vmop_image *exe;	       /* referenced; NULL: none or not known */
	struct vmop_text *cgroup;      /* NULL: not known */
	bool is_current;	       /* of a live process: /proc may be asked about it */
	bool is_over;		       /* no sample of it will come any more */
	bool is_alone;		       /* in a block of its own: freed once stored */
	bool is_grouped;	       /* id is its group's, in this interval */
	uint32_t n_grouped;	       /* of a group: how many tasks it stands for; 0: no group */
	struct vmop_task *prev, *next; /* in the list of those to be stored, or of the grouped */
};

/*
 * Groups: while many short-lived tasks come and go, the samples of tasks that begin have one id for
 * each command until the interval ends. So the aggregate's tables stay in the cache, and few
 * cells need sorting and storing. Tasks of more commands than this have their own ids.
 */
#define VMOP_TASK_GROUPS_MAX 64

/* Ended tasks that wait to be stored; beyond, their samples name a task without a row. */
#define VMOP_TASKS_ALONE_MAX 65536

struct vmop_tasks {
	struct vmop_task *pending; /* with an id and no row, as utlist has it */
	/* Ids of those that are over, whose rows are to say so. */
	uint32_t *ended;
	size_t n_ended, max_ended;
	uint32_t n_alone;	   /* of them, in blocks of their own */
	bool groups_tasks;	   /* in this interval */
	uint32_t interval;	   /* counts those that were stored */
	struct vmop_task *grouped; /* whose ids are of groups */
	struct vmop_task groups[VMOP_TASK_GROUPS_MAX];
	uint32_t n_groups;
	uint32_t next_id;
	struct vmop_images *images;
};

/*
 * Ends task under its present name and begins the next, without id, in its
 * place: same pid, tid, start and cgroup.
 */
void vmop_task_renew(struct vmop_tasks *tasks, struct vmop_task *task);

/* Takes over exe's reference. */
void vmop_task_set_exe(struct vmop_tasks *tasks, struct vmop_task *task, struct vmop_image *exe);

/* It is over: drops what it holds.  It must not be pending. */
void vmop_task_deinit(struct vmop_tasks *tasks, struct vmop_task *task);

/* Frees the table's own memory. */
void vmop_tasks_deinit(struct vmop_tasks *tasks);

/*
 * Forgets the pending and the ended ones: after they were stored, or when all ends. Those that
 * were stored under another task's row have no id any more.
 */
struct vmop_short_lived; /* short-lived.h */
void vmop_tasks_stored(struct vmop_tasks *tasks, const struct vmop_short_lived *short_lived);

static inline bool vmop_task_is_pending(const struct vmop_task *task)
{
	return task->prev != NULL; /* utlist: the first one's prev is the last */
}

/* Gives task an id and a place among those to be stored. */
void vmop_task_append(struct vmop_tasks *tasks, struct vmop_task *task);

/* Fill in the row of task, except its times. The row points into task. */
void vmop_task_describe(const struct vmop_task *task, struct vmop_db_task *ret);

/*
 * Gives task the id of the group of its domain, exe, cgroup and comm, where there is room. On the
 * per-sample path.
 */
void vmop_task_group(struct vmop_tasks *tasks, struct vmop_task *task);

/* The id of task; gives it one if it has none.  On the per-sample path. */
static inline struct vmop_task_id vmop_task_id(struct vmop_tasks *tasks, struct vmop_task *task)
{
	if (!task->id.number)
		vmop_task_append(tasks, task);
	return task->id;
}

#endif
