// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/xen/pending.h"
#include "libutil/array.h"

#include <stdlib.h>

static void keep_lost(void *arg, uint16_t domain, uint16_t vcpu, uint64_t n)
{
	(void)domain;
	(void)vcpu;
	((struct vmop_xen_pending *)arg)->lost += n;
}

static void keep_entry(void *arg, const struct vmop_xen_entry *entry)
{
	struct vmop_xen_pending *pending = arg;
	if (!vmop_array_reserve(pending->entries, pending->capacity, pending->n + 1)) {
		pending->lost++;
		return;
	}
	pending->entries[pending->n++] = *entry;
}

void vmop_xen_pending_take(struct vmop_xen_pending *pending, struct vmop_xen_transport *transport)
{
	const struct vmop_xen_entry_sink sink = {
		.entry = keep_entry,
		.lost = keep_lost,
		.arg = pending,
	};
	transport->ops->drain(transport, UINT64_MAX, &sink);
}

bool vmop_xen_pending_deliver(struct vmop_xen_pending *pending, uint64_t up_to_ns,
			      const struct vmop_xen_entry_sink *sink)
{
	while (pending->n_delivered < pending->n &&
	       pending->entries[pending->n_delivered].time_ns < up_to_ns)
		sink->entry(sink->arg, &pending->entries[pending->n_delivered++]);
	if (pending->n_delivered < pending->n)
		return false;
	if (pending->lost)
		sink->lost(sink->arg, 0, 0, pending->lost);
	vmop_xen_pending_deinit(pending);
	return true;
}

void vmop_xen_pending_deinit(struct vmop_xen_pending *pending)
{
	free(pending->entries);
	*pending = (struct vmop_xen_pending){0};
}
