// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Events for Xen's counters: what --event asks for, as the numbers that the processor wants.
 */
#ifndef VMOP_HV_INTERFACE_XEN_EVENT_H
#define VMOP_HV_INTERFACE_XEN_EVENT_H

#include "hv-interface/event-list.h"
#include "hv-interface/source.h"
#include "hv-interface/xen/transport.h"

/* An event that was chosen. */
struct vmop_xen_choice {
	struct vmop_xen_event event;
	/* Which samples of it are wanted; the counter itself can't tell a PV guest's modes apart.
	 */
	bool kernel, user, host, guest;
	char *name, *note; /* note: NULL, or what was done differently */
};

/*
 * Resolves one request; NULL: the default, the processor's cycles.  root: before
 * /proc/cpuinfo; NULL: "".  VMOP_ERROR_USAGE: this model has no such event, or Xen can't count it
 * so. ret's strings are the caller's, freed with vmop_xen_choice_deinit.
 */
struct vmop_error *vmop_xen_choose(const struct vmop_event_request *request,
				   const struct vmop_xen_machine *machine, const char *root,
				   struct vmop_xen_choice *ret);
/*
 * In an active domain: the event is dom0's, which has put it on a counter already; only its name
 * and its period matter.  VMOP_ERROR_USAGE: it has none.
 */
struct vmop_error *vmop_xen_take_over(const struct vmop_event_request *request,
				      struct vmop_xen_choice *ret);
void vmop_xen_choice_deinit(struct vmop_xen_choice *choice);

/* Calls each for every event that Xen's counters can be asked for, of group VMOP_EVENTS_XEN. */
void vmop_xen_event_list(vmop_event_list_fn each, void *arg);

#endif
