// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every event that can be asked for on this machine, by groups: the kernel's software events,
 * perf's generic ones of the PMU, what sysfs and libpfm4 know of the machine's PMUs, opcontrol's
 * names, tracepoints.  Each is tried, not counting, on the calling task, so that what the machine
 * lacks can be told apart.
 */
#ifndef VMOP_HV_INTERFACE_EVENT_LIST_H
#define VMOP_HV_INTERFACE_EVENT_LIST_H

#include "hv-interface/event-entry.h"
#include "libutil/error.h"

/*
 * Calls each for all of them, group by group.  root: before /sys, "" on the machine itself.  Why
 * tracepoints could not be read goes to *ret_no_tracepoints, the caller's; NULL: they were.
 */
struct vmop_error *vmop_event_list(const char *root, vmop_event_list_fn each, void *arg,
				   struct vmop_error **ret_no_tracepoints);

#endif
