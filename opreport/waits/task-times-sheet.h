// SPDX-License-Identifier: GPL-2.0-or-later
/* The time of guests' tasks as a sheet: a row for each task, with the interval of its estimate. */
#ifndef VMOP_OPREPORT_WAITS_TASK_TIMES_SHEET_H
#define VMOP_OPREPORT_WAITS_TASK_TIMES_SHEET_H

#include "opreport/output/sheet.h"
#include "opreport/waits/task-times.h"

struct vmop_task_times_sheet;

/* Make *ret of times, which must outlive it. */
struct vmop_error *vmop_task_times_sheet_create(const struct vmop_task_times *times,
						struct vmop_task_times_sheet **ret);
void vmop_task_times_sheet_destroy(struct vmop_task_times_sheet *sheet); /* NULL is allowed */
const struct vmop_sheet *vmop_task_times_sheet_of(const struct vmop_task_times_sheet *sheet);

#endif
