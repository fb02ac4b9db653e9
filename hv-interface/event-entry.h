// SPDX-License-Identifier: GPL-2.0-or-later
/* One line in a list of the events that a source can sample. */
#ifndef VMOP_HV_INTERFACE_EVENT_ENTRY_H
#define VMOP_HV_INTERFACE_EVENT_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

enum vmop_event_group {
	VMOP_EVENTS_SOFTWARE,
	VMOP_EVENTS_HARDWARE,
	VMOP_EVENTS_CACHE,
	VMOP_EVENTS_PMU, /* sysfs: "pmu/event/" */
	VMOP_EVENTS_LIBPFM4,
	VMOP_EVENTS_OPCONTROL,
	VMOP_EVENTS_TRACEPOINT,
	VMOP_EVENTS_XEN, /* counters that Xen samples: vmop_xen_event_list (xen/event.h) */
	VMOP_N_EVENT_GROUPS,
};

/* One event or unit mask of a list. The strings are valid until the callback returns. */
struct vmop_event_entry {
	enum vmop_event_group group;
	const char *name;	 /* in the form that --event takes */
	const char *unit_mask;	 /* NULL, or the name of a unit mask of the last listed event */
	uint64_t unit_mask_code; /* its number, which --event also takes */
	const char *description; /* the meaning of one count; NULL: not known */
	const char *unit;	 /* "ns" or "events" */
	uint64_t lowest_count;	 /* lowest period */
	bool is_available;	 /* a trial shows that this machine can sample it */
};

typedef void (*vmop_event_list_fn)(void *arg, const struct vmop_event_entry *entry);

#endif
