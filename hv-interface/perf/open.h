// SPDX-License-Identifier: GPL-2.0-or-later
/* The system call that opens an event; see perf_event_open(2). */
#ifndef VMOP_HV_INTERFACE_PERF_OPEN_H
#define VMOP_HV_INTERFACE_PERF_OPEN_H

#include <linux/perf_event.h>
#include <stdbool.h>

/*
 * Open an event that counts every task on a CPU.  group_fd is the descriptor of the first event
 * of its group, or -1 for that first event and for an event without a group.  Raise the limit of
 * open files as far as permitted when it is reached.  Return -1 with errno on failure.
 */
int vmop_perf_open(struct perf_event_attr *attr, unsigned cpu, int group_fd);

/*
 * Raise the limit of open files. Return whether it was raised, so that a refused call is worth a
 * retry.
 */
bool vmop_perf_raise_file_limit(void);

#endif
