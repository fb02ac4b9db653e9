// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How long guests' vCPUs ran each task of the guest, seen from the host: an estimate. In each
 * interval of a session that was recorded with --waits, the host measured the CPU time of the
 * vCPUs' threads (waits.h). Only samples show which task the guest ran. So the time of an interval
 * is divided among the guest's tasks by their shares of the guest's samples in that interval.
 *
 * Measured, and not divided: the time from exits to entries, in which KVM and the VMM work for the
 * guest, and the time of intervals without a sample of the guest.
 *
 * Caller: vmopreport.c, for --waits=tasks; task-times-sheet.h prints it.
 */
#ifndef VMOP_OPREPORT_WAITS_TASK_TIMES_H
#define VMOP_OPREPORT_WAITS_TASK_TIMES_H

#include "opreport/query/query.h"

enum vmop_task_time_kind {
	VMOP_TASK_TIME_TASK,
	VMOP_TASK_TIME_EXITS,	  /* from exits to entries; none where exits are not counted */
	VMOP_TASK_TIME_UNSAMPLED, /* in intervals without a sample of the guest */
};

struct vmop_task_time {
	uint32_t domain; /* catalog index of its row */
	enum vmop_task_time_kind kind;
	uint32_t task;	  /* of TASK: catalog index of its row; else 0 */
	uint64_t samples; /* of TASK */
	double time_ns;
	double error_ns;   /* of TASK: time_ns lies within it with 95 %; else 0 */
	double running_ns; /* the CPU time of all vCPUs of the guest */
};

struct vmop_task_times {
	struct vmop_result result;    /* of the samples; it has the catalog */
	struct vmop_task_time *items; /* ascending by domain, and falling by time */
	size_t n, capacity;
	size_t event;	     /* the slot of the event whose samples are taken */
	uint64_t longest_ns; /* the length of the longest interval */
	bool has_exits;	     /* of all sessions; else tasks have the time of exits too */
};

/*
 * Load what a spec selects: by session:, domain: and time:. VMOP_ERROR_USAGE: it has another tag.
 * VMOP_ERROR_NOT_FOUND: nothing matches. VMOP_ERROR_CANT: no event of the samples goes with time.
 * The caller deinitialises ret also after an error.
 */
struct vmop_error *vmop_task_times_load(const struct vmop_spec *spec, struct vmop_task_times *ret);
void vmop_task_times_deinit(struct vmop_task_times *times);

/*
 * Return the half width of the 95 % interval of a task's time: of n samples, of which x are the
 * task's. square_ns is the sum over intervals of time * time / samples, in ns * ns. Agresti and
 * Coull's interval ("Approximate is better than exact", 1998), with each interval as one stratum.
 */
double vmop_task_time_error(uint64_t x, uint64_t n, double square_ns);

#endif
