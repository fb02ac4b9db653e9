// SPDX-License-Identifier: GPL-2.0-or-later
/* Events for Xen's counters: the values of --event as the numbers that the processor needs. */
#ifndef VMOP_HV_INTERFACE_XEN_EVENT_H
#define VMOP_HV_INTERFACE_XEN_EVENT_H

#include "hv-interface/event-list.h"
#include "hv-interface/source.h"
#include "hv-interface/xen/transport.h"

/* A chosen event. */
struct vmop_xen_choice {
	struct vmop_xen_event event;
	/* Wanted samples; the counter itself cannot separate a PV guest's modes. */
	bool kernel, user, host, guest;
	char *name, *note; /* note: NULL, or the differences from the request */
};

/*
 * Resolve one request; NULL: the default, the processor's cycles. root: prefix for /proc/cpuinfo;
 * NULL: "". Free *ret with vmop_xen_choice_deinit. VMOP_ERROR_USAGE: this model has no such event,
 * or Xen cannot count it as requested.
 */
struct vmop_error *vmop_xen_choose(const struct vmop_event_request *request,
				   const struct vmop_xen_machine *machine, const char *root,
				   struct vmop_xen_choice *ret);
/*
 * Resolve a request in an active domain. dom0 has put the event on a counter already, so only its
 * name, modes and period are used. VMOP_ERROR_USAGE: the request lacks the period.
 */
struct vmop_error *vmop_xen_take_over(const struct vmop_event_request *request,
				      struct vmop_xen_choice *ret);
void vmop_xen_choice_deinit(struct vmop_xen_choice *choice);

/* Call each for every event that Xen's counters accept, of group VMOP_EVENTS_XEN. */
void vmop_xen_event_list(vmop_event_list_fn each, void *arg);

#endif
