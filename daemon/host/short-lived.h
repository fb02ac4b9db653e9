// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Short-lived tasks: those that ended in the interval of their first sample. A machine that builds
 * software has hundreds of them a second. Rows for each would be most of a session, so each of
 * them goes to the row of its command, which counts them (vmop_db_merge_tasks), except
 *
 *	where an interval has no more than VMOP_SHORT_LIVED_APART of them, and
 *	a task with more than one in VMOP_SHORT_LIVED_APART of the interval's samples.
 *
 * So the rows of tasks that an interval adds are bounded, however many processes it had.
 */
#ifndef VMOP_DAEMON_HOST_SHORT_LIVED_H
#define VMOP_DAEMON_HOST_SHORT_LIVED_H

#include <stdint.h>

#include "daemon/host/task.h"
#include "daemon/profile/aggregate.h"
#include "libdb/db.h"

#define VMOP_SHORT_LIVED_APART 16

struct vmop_short_lived {
	/* The row of a pending task's samples, at index id - first_id. */
	struct vmop_short_lived_task {
		struct vmop_task_row_id row; /* 0: its own */
		struct vmop_task_id first;   /* of the tasks with this row */
		uint32_t samples;
	} * tasks;
	uint32_t first_id, n, capacity;
	uint32_t n_over;		 /* short-lived tasks of the interval */
	const struct vmop_task **merged; /* scratch, of the same capacity */
};

void vmop_short_lived_deinit(struct vmop_short_lived *short_lived); /* a zeroed one is empty */

/* Give every pending task a row of its own. */
void vmop_short_lived_reset(struct vmop_short_lived *short_lived);

/*
 * Choose the pending tasks to merge, and store the rows of their commands as part of db's open
 * interval. Call this once an interval, with its samples in aggregate and the images of its tasks
 * stored. Without memory no task is merged.
 */
struct vmop_error *vmop_short_lived_merge(struct vmop_short_lived *short_lived,
					  const struct vmop_tasks *tasks,
					  const struct vmop_aggregate *aggregate,
					  struct vmop_db *db);

/* Return the id of the row of a task's samples. The id of such a row maps to the same id. */
static inline struct vmop_task_row_id
vmop_short_lived_row(const struct vmop_short_lived *short_lived, struct vmop_task_id task)
{
	uint32_t i = task.number - short_lived->first_id; /* wraps around below first_id */
	return i < short_lived->n && short_lived->tasks[i].row.number
		       ? short_lived->tasks[i].row
		       : (struct vmop_task_row_id){task.number};
}

/* Return the first of the tasks that share the row of task. */
static inline struct vmop_task_id vmop_short_lived_first(const struct vmop_short_lived *short_lived,
							 struct vmop_task_id task)
{
	uint32_t i = task.number - short_lived->first_id;
	return i < short_lived->n && short_lived->tasks[i].row.number ? short_lived->tasks[i].first
								      : task;
}

#endif
