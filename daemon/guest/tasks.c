// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/tasks.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/host/image.h"

struct task_key {
	uint32_t pid, padding;
	uint64_t start_time_ns; /* on the guest's clock */
};

struct vmop_guest_task {
	struct task_key key;
	struct vmop_task *task; /* a separate block, so that it can outlive this one */
	uint32_t used_in;	/* the number of sweeps before its last sample */
	uint8_t exe_rank;	/* enum exe_rank */
	UT_hash_handle hh;
};

/* How well a sampled file fits as the executable of a process. */
enum exe_rank { NO_EXE, IS_LIBRARY, IS_PROGRAM, HAS_NAME_OF_PROCESS };

void vmop_guest_tasks_table_init(struct vmop_guest_tasks_table *table, struct vmop_domain_id domain,
				 struct vmop_tasks *tasks)
{
	*table = (struct vmop_guest_tasks_table){.domain = domain, .tasks = tasks};
}

/* Remove entry, and free its task now or once it is stored. */
static void remove_entry(struct vmop_guest_tasks_table *table, struct vmop_guest_task *entry)
{
	HASH_DEL(table->by_start, entry);
	if (vmop_task_is_pending(entry->task)) {
		entry->task->is_alone = true; /* it is freed once it is stored */
		entry->task->is_over = true;
	} else {
		vmop_task_deinit(table->tasks, entry->task);
		free(entry->task);
	}
	free(entry);
}

void vmop_guest_tasks_table_deinit(struct vmop_guest_tasks_table *table)
{
	struct vmop_guest_task *entry, *next;
	HASH_ITER (hh, table->by_start, entry, next)
		remove_entry(table, entry);
}

static struct vmop_guest_task *add(struct vmop_guest_tasks_table *table, const struct task_key *key)
{
	struct vmop_guest_task *entry = calloc(1, sizeof(*entry));
	struct vmop_task *task = calloc(1, sizeof(*task));
	if (!entry || !task) {
		free(entry);
		free(task);
		return NULL;
	}
	task->domain = table->domain;
	task->pid = key->pid;
	entry->key = *key;
	entry->task = task;
	HASH_ADD(hh, table->by_start, key, sizeof(entry->key), entry);
	if (entry->hh.tbl)
		return entry;
	free(entry); /* out of memory */
	free(task);
	return NULL;
}

static struct vmop_guest_task *find(struct vmop_guest_tasks_table *table, uint32_t pid,
				    uint64_t start_time_ns)
{
	struct task_key key = {.pid = pid, .start_time_ns = start_time_ns};
	struct vmop_guest_task *entry;
	HASH_FIND(hh, table->by_start, &key, sizeof(key), entry);
	return entry ? entry : add(table, &key);
}

/*
 * Set the name of a task; samples that it has already keep the old name. Return whether the name is
 * new.
 */
static bool name_task(struct vmop_guest_tasks_table *table, struct vmop_task *task,
		      const char *comm)
{
	if (!strncmp(task->comm, comm, sizeof(task->comm)))
		return false;
	if (task->id.number)
		vmop_task_renew(table->tasks, task);
	snprintf(task->comm, sizeof(task->comm), "%s", comm);
	return true;
}

static enum exe_rank rank_of(const struct vmop_image *file, const char *comm)
{
	if (!file || file->kind != VMOP_IMAGE_FILE)
		return NO_EXE;
	const char *slash = strrchr(file->name, '/');
	const char *base = slash ? slash + 1 : file->name;
	size_t len = strcspn(base, " "); /* " (deleted)" may follow */
	size_t shown = len < VMOP_COMM_BYTES - 1 ? len : VMOP_COMM_BYTES - 1;
	if (shown && !strncmp(base, comm, shown) && !comm[shown])
		return HAS_NAME_OF_PROCESS;
	return strstr(base, ".so") ? IS_LIBRARY : IS_PROGRAM;
}

/* Set the executable, if file fits better than the present one. A row that is stored stays. */
static void consider_exe(struct vmop_guest_tasks_table *table, struct vmop_guest_task *entry,
			 struct vmop_image *file)
{
	struct vmop_task *task = entry->task;
	if (entry->exe_rank == HAS_NAME_OF_PROCESS ||
	    (task->exe && task->id.number && !vmop_task_is_pending(task)))
		return;
	enum exe_rank rank = rank_of(file, task->comm);
	if (rank <= entry->exe_rank)
		return;
	entry->exe_rank = (uint8_t)rank;
	vmop_task_set_exe(table->tasks, task, vmop_image_ref(file));
}

struct vmop_task_id vmop_guest_tasks_table_id(struct vmop_guest_tasks_table *table,
					      const struct vmop_guest_task_facts *facts)
{
	struct vmop_guest_task *entry = find(table, facts->pid, facts->start_time_ns);
	if (!entry)
		return (struct vmop_task_id){0};
	struct vmop_task *task = entry->task;
	entry->used_in = table->n_sweeps;
	if (name_task(table, task, facts->comm)) /* it may have executed another program */
		entry->exe_rank = (uint8_t)rank_of(task->exe, task->comm);
	if (!task->cgroup && facts->cgroup && facts->cgroup[0])
		task->cgroup = vmop_text_new(facts->cgroup);
	consider_exe(table, entry, facts->file);
	return vmop_task_id(table->tasks, task);
}

struct vmop_task_id vmop_guest_tasks_table_idle(struct vmop_guest_tasks_table *table)
{
	struct vmop_guest_task *idle = find(table, 0, 0);
	if (!idle)
		return (struct vmop_task_id){0};
	name_task(table, idle->task, "[idle]");
	return vmop_task_id(table->tasks, idle->task);
}

static bool is_in_list(const struct vmop_guest_tasks *tasks, const struct task_key *key)
{
	const struct vmop_guest_process *process =
		tasks ? vmop_guest_snapshot_by_pid(tasks->snapshot, key->pid) : NULL;
	return process && process->start_time_ns == key->start_time_ns;
}

void vmop_guest_tasks_table_sweep(struct vmop_guest_tasks_table *table,
				  const struct vmop_guest_view *view)
{
	struct vmop_guest_task *entry, *next;
	table->n_sweeps++;
	HASH_ITER (hh, table->by_start, entry, next) {
		if (entry->key.pid && table->n_sweeps - entry->used_in > 2 &&
		    !is_in_list(view->tasks, &entry->key) &&
		    !is_in_list(view->tasks_before, &entry->key))
			remove_entry(table, entry);
	}
}
