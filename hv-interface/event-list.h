// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The list of all events that this machine can sample, by groups: the kernel's software events,
 * perf's generic events of the PMU, the PMUs' events by sysfs and libpfm4, opcontrol's names,
 * tracepoints. Each is opened as a trial on the calling task, without counting, so that missing
 * ones are marked.
 */
#ifndef VMOP_HV_INTERFACE_EVENT_LIST_H
#define VMOP_HV_INTERFACE_EVENT_LIST_H

#include "hv-interface/event-entry.h"
#include "libutil/error.h"

/*
 * Call each for all events, group by group. root is a prefix for /sys, "" on the machine itself.
 * Set *ret_no_tracepoints to the reason why tracepoints could not be read, or to NULL; the caller
 * owns it.
 */
struct vmop_error *vmop_event_list(const char *root, vmop_event_list_fn each, void *arg,
				   struct vmop_error **ret_no_tracepoints);

#endif
