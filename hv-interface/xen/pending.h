// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the xen source took out of Xen's buffers when it was to give them back, until the next
 * drain.  Bounded by what Xen samples while active domains are waited for, some seconds, and by
 * those buffers.
 */
#ifndef VMOP_HV_INTERFACE_XEN_PENDING_H
#define VMOP_HV_INTERFACE_XEN_PENDING_H

#include "hv-interface/xen/transport.h"

/* All zero: nothing. */
struct vmop_xen_pending {
	struct vmop_xen_entry *entries;
	size_t n, capacity, n_delivered;
	uint64_t lost; /* in Xen, or here for want of memory */
};

/* Takes all that way has. */
void vmop_xen_pending_take(struct vmop_xen_pending *pending, struct vmop_xen_transport *transport);

/*
 * Hands over those with a time before up_to_ns, and once there are no more the number of those
 * that were lost.  True: nothing is held any more.
 */
bool vmop_xen_pending_deliver(struct vmop_xen_pending *pending, uint64_t up_to_ns,
			      const struct vmop_xen_entry_sink *sink);

void vmop_xen_pending_deinit(struct vmop_xen_pending *pending);

#endif
