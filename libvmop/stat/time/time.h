// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmopstat --time: real and CPU time of a command, a process or all tasks, also without stolen
 * time, by libvmop's vmop_times_*(). vmopstat.c opens it for each run, calls tick while it waits,
 * and take at the end of each interval or run. All functions do nothing for one that was not
 * opened.
 */
#ifndef VMOP_LIBVMOP_STAT_TIME_TIME_H
#define VMOP_LIBVMOP_STAT_TIME_TIME_H

#include <sys/types.h>

#include "libutil/error.h"
#include "libvmop/stat/output.h"
#include "libvmop/stat/time/stops.h"
#include "libvmop/stat/time/task-rows.h"
#include "libvmop/vmop.h"

enum vmop_stat_time_row {
	VMOP_STAT_REAL,
	VMOP_STAT_VIRTUAL,
	VMOP_STAT_USER,
	VMOP_STAT_SYSTEM,
	VMOP_STAT_STOLEN,
	VMOP_STAT_UNSTOLEN,
	VMOP_STAT_N_TIMES,
};

struct vmop_stat_time {
	struct vmop_times *times;
	struct vmop_time before; /* at the end of the last interval */
	struct vmop_stat_row rows[VMOP_STAT_N_TIMES];
	struct vmop_stat_tasks tasks; /* of the last run */
	bool has_accounts;
	struct vmop_stat_accounts accounts; /* at the end of the last wait */
	uint64_t until_ns;		    /* when the present wait is to end */
	uint64_t stopped_ns, n_ticks;
};

/* Open it for a process and what it makes, or for all tasks: 0. */
struct vmop_error *vmop_stat_time_open(struct vmop_stat_time *time, pid_t pid);
/* Close what belongs to one run; the rows stay. */
void vmop_stat_time_close(struct vmop_stat_time *time);
void vmop_stat_time_deinit(struct vmop_stat_time *time);

/* Return until when to wait at most before the next tick; until_ns: until when otherwise, 0: for
 * ever. */
uint64_t vmop_stat_time_next(struct vmop_stat_time *time, uint64_t until_ns);
/* Collect the tasks that have ended, and notice when the machine stood still. */
struct vmop_error *vmop_stat_time_tick(struct vmop_stat_time *time);

/* Take the times of an interval or a run. user_s, system_s: of the command, if it ended, else < 0.
 */
struct vmop_error *vmop_stat_time_take(struct vmop_stat_time *time, bool is_interval, double user_s,
				       double system_s);

/* Write the six rows of an interval, which ended time_s after the start, or of the runs. */
void vmop_stat_time_write(const struct vmop_stat_time *time, const struct vmop_stat_writer *writer,
			  double time_s);
/* Write the rows of the processes and threads of the last run. */
void vmop_stat_time_write_tasks(const struct vmop_stat_time *time,
				const struct vmop_stat_writer *writer);

#endif
