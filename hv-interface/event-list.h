// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Every event that can be asked for on this machine, by groups: the kernel's software events,
 * perf's generic ones of the PMU, what sysfs and libpfm4 know of the machine's PMUs, opcontrol's
 * names, tracepoints.  Each is tried, not counting, on the calling task, so that what the machine
 * lacks can be told apart.
 */
#ifndef VMOP_HV_INTERFACE_EVENT_LIST_H
#define VMOP_HV_INTERFACE_EVENT_LIST_H

#include <stdbool.h>
#include <stdint.h>

#include "libutil/error.h"

enum vmop_event_group {
	VMOP_EVENTS_SOFTWARE,
	VMOP_EVENTS_HARDWARE,
	VMOP_EVENTS_CACHE,
	VMOP_EVENTS_PMU, /* sysfs: "pmu/event/" */
	VMOP_EVENTS_LIBPFM4,
	VMOP_EVENTS_OPCONTROL,
	VMOP_EVENTS_TRACEPOINT,
	VMOP_EVENTS_XEN, /* counters that Xen samples: vmop_xen_event_list (xen-event.h) */
	VMOP_N_EVENT_GROUPS,
};

/* Text holds until the callback returns. */
struct vmop_event_entry {
	enum vmop_event_group group;
	const char *name;	 /* as --event takes it */
	const char *unit_mask;	 /* NULL, or this is a unit mask of the event before: its name */
	uint64_t unit_mask_code; /* its number, which --event takes, too */
	const char *description; /* what one count is; NULL: not known */
	const char *unit;	 /* "ns" or "events" */
	uint64_t lowest_count;	 /* of a period */
	bool is_available;	 /* this machine can sample it, as far as a trial tells */
};

typedef void (*vmop_event_list_fn)(void *arg, const struct vmop_event_entry *entry);

/*
 * Calls each for all of them, group by group.  root: before /sys, "" on the machine itself.  Why
 * tracepoints could not be read goes to *ret_no_tracepoints, the caller's; NULL: they were.
 */
struct vmop_error *vmop_event_list(const char *root, vmop_event_list_fn each, void *arg,
				   struct vmop_error **ret_no_tracepoints);

#endif
