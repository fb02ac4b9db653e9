// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/host/task.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "daemon/host/image.h"
#include "daemon/host/short-lived.h"
#include "libutil/array.h"

struct vmop_text *vmop_text_new(const char *text)
{
	size_t len = strlen(text);
	struct vmop_text *new = malloc(sizeof(*new) + len + 1);
	if (!new)
		return NULL;
	new->refs = 1;
	memcpy(new->text, text, len + 1);
	return new;
}

void vmop_text_unref(struct vmop_text *text)
{
	if (text && !--text->refs)
		free(text);
}

void vmop_task_append(struct vmop_tasks *tasks, struct vmop_task *task)
{
	task->id.number = tasks->next_id++;
	DL_APPEND(tasks->pending, task);
}

static struct vmop_task *find_group(struct vmop_tasks *tasks, const struct vmop_task *task)
{
	for (uint32_t i = 0; i < tasks->n_groups; i++) {
		struct vmop_task *group = &tasks->groups[i];
		if (group->exe == task->exe && group->cgroup == task->cgroup &&
		    vmop_domain_id_equals(group->domain, task->domain) &&
		    !strcmp(group->comm, task->comm))
			return group;
	}
	return NULL;
}

static struct vmop_task *add_group(struct vmop_tasks *tasks, const struct vmop_task *task)
{
	if (tasks->n_groups == VMOP_TASK_GROUPS_MAX)
		return NULL;
	struct vmop_task *group = &tasks->groups[tasks->n_groups++];
	*group = (struct vmop_task){
		.domain = task->domain,
		.exe = task->exe ? vmop_image_ref(task->exe) : NULL,
		.cgroup = vmop_text_ref(task->cgroup),
		.is_over = true,
	};
	memcpy(group->comm, task->comm, sizeof(group->comm));
	vmop_task_append(tasks, group);
	return group;
}

void vmop_task_group(struct vmop_tasks *tasks, struct vmop_task *task)
{
	struct vmop_task *group = find_group(tasks, task);
	if (!group)
		group = add_group(tasks, task);
	if (!group)
		return;
	group->n_grouped++;
	task->id = group->id;
	task->is_grouped = true;
	DL_APPEND(tasks->grouped, task);
}

static void ungroup(struct vmop_tasks *tasks, struct vmop_task *task)
{
	DL_DELETE(tasks->grouped, task);
	task->prev = task->next = NULL;
	task->is_grouped = false;
	task->id.number = 0;
}

void vmop_task_renew(struct vmop_tasks *tasks, struct vmop_task *task)
{
	struct vmop_task next = {
		.domain = task->domain,
		.pid = task->pid,
		.tid = task->tid,
		.start_ns = task->start_ns,
		.exe = task->exe ? vmop_image_ref(task->exe) : NULL,
		.cgroup = vmop_text_ref(task->cgroup),
		.is_current = task->is_current,
	};
	memcpy(next.comm, task->comm, sizeof(next.comm));
	if (task->is_grouped)
		ungroup(tasks, task);
	if (vmop_task_is_pending(task)) {
		struct vmop_task *old =
			tasks->n_alone < VMOP_TASKS_ALONE_MAX ? malloc(sizeof(*old)) : NULL;
		DL_DELETE(tasks->pending, task);
		task->prev = NULL;
		if (old) {
			*old = *task;
			old->is_current = false;
			old->is_over = true;
			old->is_alone = true;
			tasks->n_alone++;
			DL_APPEND(tasks->pending, old);
			*task = next;
			return;
		}
	}
	vmop_task_deinit(tasks, task);
	*task = next;
}

void vmop_task_set_exe(struct vmop_tasks *tasks, struct vmop_task *task, struct vmop_image *exe)
{
	vmop_image_unref(tasks->images, task->exe);
	task->exe = exe;
}

/* Return the id of the row that task has unless it shares another task's row. */
static struct vmop_task_row_id row_of(const struct vmop_task *task)
{
	return (struct vmop_task_row_id){task->id.number};
}

/* Note the end of a task. Without memory its row never gets the end. */
static void note_end(struct vmop_tasks *tasks, struct vmop_task_row_id id)
{
	if (vmop_array_reserve(tasks->ended, tasks->max_ended, tasks->n_ended + 1))
		tasks->ended[tasks->n_ended++] = id;
}

void vmop_task_deinit(struct vmop_tasks *tasks, struct vmop_task *task)
{
	if (task->id.number)
		note_end(tasks, row_of(task));
	vmop_image_unref(tasks->images, task->exe);
	vmop_text_unref(task->cgroup);
	task->exe = NULL;
	task->cgroup = NULL;
}

void vmop_tasks_deinit(struct vmop_tasks *tasks)
{
	free(tasks->ended);
	tasks->ended = NULL;
	tasks->n_ended = tasks->max_ended = 0;
}

void vmop_task_describe(const struct vmop_task *task, struct vmop_db_task *ret)
{
	*ret = (struct vmop_db_task){
		.id = row_of(task),
		.domain = task->domain,
		.pid = task->pid,
		.tid = task->tid,
		.comm = task->comm,
		.exe_image =
			task->exe ? vmop_image_canonical(task->exe)->id : (struct vmop_image_id){0},
		.cgroup = task->cgroup ? task->cgroup->text : NULL,
	};
}

void vmop_tasks_stored(struct vmop_tasks *tasks, const struct vmop_short_lived *short_lived)
{
	tasks->n_ended = 0;
	tasks->interval++;
	tasks->groups_tasks = short_lived && short_lived->n_over > VMOP_SHORT_LIVED_APART;
	struct vmop_task *task, *next;
	DL_FOREACH_SAFE(tasks->grouped, task, next)
	{
		ungroup(tasks, task);
	}
	DL_FOREACH_SAFE(tasks->pending, task, next)
	{
		DL_DELETE(tasks->pending, task);
		task->prev = task->next = NULL;
		if (task->n_grouped ||
		    (short_lived &&
		     vmop_short_lived_row(short_lived, task->id).number != task->id.number))
			task->id.number = 0; /* it has no row to end */
		if (task->n_grouped || task->is_alone)
			vmop_task_deinit(tasks, task);
		if (task->is_alone) {
			tasks->n_alone--;
			free(task);
		}
	}
	tasks->n_groups = 0;
}
