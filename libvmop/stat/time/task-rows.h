// SPDX-License-Identifier: GPL-2.0-or-later
/* The processes and threads of vmopstat --time, after the rows of the whole. */
#ifndef VMOP_LIBVMOP_STAT_TIME_TASK_ROWS_H
#define VMOP_LIBVMOP_STAT_TIME_TASK_ROWS_H

#include <stddef.h>

#include "libutil/error.h"
#include "libvmop/stat/output.h"
#include "libvmop/vmop.h"

/* A process, or a thread of the process before it. */
struct vmop_stat_task {
	struct vmop_task_time
		task; /* tid 0: the process, whose times are the sums of its threads */
	size_t n_threads;
};

struct vmop_stat_tasks {
	struct vmop_stat_task *rows;
	size_t n, capacity;
};

/* Take the threads of the last read. without: why their times mean nothing, or NULL. */
struct vmop_error *vmop_stat_tasks_take(struct vmop_stat_tasks *tasks,
					const struct vmop_times *times, const char *without);
void vmop_stat_tasks_deinit(struct vmop_stat_tasks *tasks);

/* Write a row for each process and thread; the table has only those with the most time. */
void vmop_stat_tasks_write(const struct vmop_stat_tasks *tasks,
			   const struct vmop_stat_writer *writer);

#endif
