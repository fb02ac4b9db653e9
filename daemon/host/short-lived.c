// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/host/short-lived.h"

#include <stdlib.h>
#include <string.h>

#include <utlist.h>

#include "daemon/host/image.h"

void vmop_short_lived_deinit(struct vmop_short_lived *short_lived)
{
	free(short_lived->tasks);
	free(short_lived->merged);
	short_lived->tasks = NULL;
	short_lived->merged = NULL;
	short_lived->n = short_lived->capacity = 0;
}

void vmop_short_lived_reset(struct vmop_short_lived *short_lived)
{
	short_lived->n = short_lived->n_over = 0;
}

static bool make_room(struct vmop_short_lived *short_lived, uint32_t n)
{
	if (n <= short_lived->capacity)
		return true;
	vmop_short_lived_deinit(short_lived);
	short_lived->tasks = malloc(n * sizeof(*short_lived->tasks));
	short_lived->merged = malloc(n * sizeof(*short_lived->merged));
	if (!short_lived->tasks || !short_lived->merged) {
		vmop_short_lived_deinit(short_lived);
		return false;
	}
	short_lived->capacity = n;
	return true;
}

/* Make room for all pending tasks. Return false if no task can be merged. */
static bool begin(struct vmop_short_lived *short_lived, const struct vmop_tasks *tasks)
{
	const struct vmop_task *task;
	uint32_t first_id = UINT32_MAX, last_id = 0;
	vmop_short_lived_reset(short_lived);
	DL_FOREACH (tasks->pending, task) {
		short_lived->n_over += task->n_grouped ? task->n_grouped : task->is_over;
		first_id = task->id.number < first_id ? task->id.number : first_id;
		last_id = task->id.number > last_id ? task->id.number : last_id;
	}
	if ((short_lived->n_over <= VMOP_SHORT_LIVED_APART && !tasks->n_groups) ||
	    !make_room(short_lived, last_id - first_id + 1))
		return false;
	short_lived->first_id = first_id;
	short_lived->n = last_id - first_id + 1;
	memset(short_lived->tasks, 0, short_lived->n * sizeof(*short_lived->tasks));
	return true;
}

/* Count the samples of each pending task. Return the number of the whole interval. */
static uint64_t count_samples(struct vmop_short_lived *short_lived,
			      const struct vmop_aggregate *aggregate)
{
	uint64_t samples = 0;
	for (uint32_t i = 0; i < aggregate->n_cells; i++) {
		const struct vmop_aggregate_cell *cell = &aggregate->cells[i];
		uint32_t task = aggregate->keys[cell->key].task.number - short_lived->first_id;
		samples += cell->samples;
		if (task < short_lived->n)
			short_lived->tasks[task].samples += cell->samples;
	}
	return samples;
}

static uint32_t exe_number(const struct vmop_task *task)
{
	return task->exe ? vmop_image_canonical(task->exe)->id.number : 0;
}

static const char *cgroup_of(const struct vmop_task *task)
{
	return task->cgroup ? task->cgroup->text : NULL;
}

static int compare_commands(const struct vmop_task *a, const struct vmop_task *b)
{
	const char *cgroup_a = cgroup_of(a), *cgroup_b = cgroup_of(b);
	if (!vmop_domain_id_equals(a->domain, b->domain))
		return a->domain.number < b->domain.number ? -1 : 1;
	if (exe_number(a) != exe_number(b))
		return exe_number(a) < exe_number(b) ? -1 : 1;
	int order = strcmp(a->comm, b->comm);
	if (order || cgroup_a == cgroup_b)
		return order;
	return cgroup_a && cgroup_b ? strcmp(cgroup_a, cgroup_b) : !cgroup_a - !cgroup_b;
}

static int compare(const void *a, const void *b)
{
	return compare_commands(*(const struct vmop_task *const *)a,
				*(const struct vmop_task *const *)b);
}

/* Store one row for n tasks of the same command. */
static struct vmop_error *merge(struct vmop_short_lived *short_lived, struct vmop_db *db,
				const struct vmop_task *const *tasks, uint32_t n)
{
	struct vmop_db_task like;
	struct vmop_task_row_id row;
	uint64_t count = 0;
	for (uint32_t i = 0; i < n; i++)
		count += tasks[i]->n_grouped ? tasks[i]->n_grouped : 1;
	vmop_task_describe(tasks[0], &like);
	struct vmop_error *err = vmop_db_merge_tasks(db, &like, count, &row);
	for (uint32_t i = 0; !err && i < n; i++) {
		uint32_t at = tasks[i]->id.number - short_lived->first_id;
		short_lived->tasks[at].row = row;
		short_lived->tasks[at].first = tasks[0]->id;
	}
	return err;
}

static struct vmop_error *merge_all(struct vmop_short_lived *short_lived, struct vmop_db *db,
				    uint32_t n)
{
	const struct vmop_task **merged = short_lived->merged;
	struct vmop_error *err = NULL;
	qsort(merged, n, sizeof(*merged), compare);
	for (uint32_t begin = 0, end; !err && begin < n; begin = end) {
		end = begin + 1;
		while (end < n && compare_commands(merged[begin], merged[end]) == 0)
			end++;
		err = merge(short_lived, db, merged + begin, end - begin);
	}
	return err;
}

struct vmop_error *vmop_short_lived_merge(struct vmop_short_lived *short_lived,
					  const struct vmop_tasks *tasks,
					  const struct vmop_aggregate *aggregate,
					  struct vmop_db *db)
{
	if (!begin(short_lived, tasks)) /* groups have no rows of their own */
		return tasks->n_groups ? &vmop_error_no_memory : NULL;
	uint64_t limit = count_samples(short_lived, aggregate) / VMOP_SHORT_LIVED_APART;
	const struct vmop_task *task;
	uint32_t n = 0;
	DL_FOREACH (tasks->pending, task)
		if (task->n_grouped ||
		    (task->is_over &&
		     short_lived->tasks[task->id.number - short_lived->first_id].samples <= limit))
			short_lived->merged[n++] = task;
	return merge_all(short_lived, db, n);
}
