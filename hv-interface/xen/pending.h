// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Samples that the xen source took out of Xen's buffers before giving them back, kept until the
 * next drain. Bounded by the samples of the few seconds for which agents are waited for, and by
 * those buffers.
 */
#ifndef VMOP_HV_INTERFACE_XEN_PENDING_H
#define VMOP_HV_INTERFACE_XEN_PENDING_H

#include "hv-interface/xen/transport.h"

/* All zero: empty. */
struct vmop_xen_pending {
	struct vmop_xen_entry *entries;
	size_t n, capacity, n_delivered;
	uint64_t lost; /* in Xen, or here for lack of memory */
};

/* Take all samples from the transport. */
void vmop_xen_pending_take(struct vmop_xen_pending *pending, struct vmop_xen_transport *transport);

/*
 * Deliver the samples with a time before up_to_ns, and after the last one the number of lost
 * samples. Return whether none remains.
 */
bool vmop_xen_pending_deliver(struct vmop_xen_pending *pending, uint64_t up_to_ns,
			      const struct vmop_xen_entry_sink *sink);

void vmop_xen_pending_deinit(struct vmop_xen_pending *pending);

#endif
