// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/xen/pending.h"

#include <stdlib.h>

static void hold_lost(void *arg, uint16_t domain, uint16_t vcpu, uint64_t n)
{
	(void)domain;
	(void)vcpu;
	((struct vmop_xen_held *)arg)->lost += n;
}

static void hold_entry(void *arg, const struct vmop_xen_entry *entry)
{
	struct vmop_xen_held *held = arg;
	if (held->n == held->room) {
		size_t room = held->room ? 2 * held->room : 4096;
		void *grown = reallocarray(held->entries, room, sizeof(*held->entries));
		if (!grown) {
			held->lost++;
			return;
		}
		held->entries = grown;
		held->room = room;
	}
	held->entries[held->n++] = *entry;
}

void vmop_xen_held_take(struct vmop_xen_held *held, struct vmop_xen_transport *transport)
{
	const struct vmop_xen_entry_sink sink = {
		.entry = hold_entry,
		.lost = hold_lost,
		.arg = held,
	};
	transport->ops->drain(transport, UINT64_MAX, &sink);
}

bool vmop_xen_held_give(struct vmop_xen_held *held, uint64_t up_to_ns,
			const struct vmop_xen_entry_sink *sink)
{
	while (held->n_given < held->n && held->entries[held->n_given].time_ns < up_to_ns)
		sink->entry(sink->arg, &held->entries[held->n_given++]);
	if (held->n_given < held->n)
		return false;
	if (held->lost)
		sink->lost(sink->arg, 0, 0, held->lost);
	vmop_xen_held_deinit(held);
	return true;
}

void vmop_xen_held_deinit(struct vmop_xen_held *held)
{
	free(held->entries);
	*held = (struct vmop_xen_held){0};
}
