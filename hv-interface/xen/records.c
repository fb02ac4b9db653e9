// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/xen/records.h"

#include <stdlib.h>

/* Number of records after which their room is given back to the module: an eighth of a ring. */
#define FREE_EVERY(rings) ((rings)->n_records / 8 + 1)

/* A ring fuller than this is emptied whatever the time. */
enum { FULL_PERCENT = 75 };

struct vmop_error *vmop_xen_records_add(struct vmop_xen_records *records, uint16_t domain,
					uint32_t n_vcpus)
{
	struct vmop_xen_records_domain *added = &records->domains[records->n_domains];
	*added = (struct vmop_xen_records_domain){.id = domain, .n_vcpus = n_vcpus};
	added->vcpus = calloc(n_vcpus, sizeof(*added->vcpus));
	if (!added->vcpus)
		return &vmop_error_no_memory;
	records->n_domains++;
	return NULL;
}

void vmop_xen_records_deinit(struct vmop_xen_records *records)
{
	while (records->n_domains > 0)
		free(records->domains[--records->n_domains].vcpus);
}

/* Return the state of a vCPU, or NULL if it was not added: all its entries are samples. */
static struct vmop_xen_records_vcpu *state_of(struct vmop_xen_records *records, uint16_t domain,
					      uint16_t vcpu)
{
	for (size_t i = 0; i < records->n_domains; i++)
		if (records->domains[i].id == domain && vcpu < records->domains[i].n_vcpus)
			return &records->domains[i].vcpus[vcpu];
	return NULL;
}

static void hand_over(struct vmop_xen_records *records, const struct vmop_xendev_record *record,
		      const struct vmop_xen_entry_sink *sink)
{
	if (record->type == VMOP_XENDEV_LOST) {
		sink->lost(sink->arg, record->domid, record->vcpu, record->eip);
		return;
	}
	struct vmop_xen_records_vcpu *state = state_of(records, record->domid, record->vcpu);
	if (record->eip == VMOP_XENOPROF_ESCAPE) {
		if (state) {
			state->is_sample_next = record->event == VMOP_XENOPROF_ESCAPE_TRACE;
			state->has_backtraces |= state->is_sample_next;
		}
		return;
	}
	const struct vmop_xen_entry entry = {
		.time_ns = record->time_ns,
		.ip = record->eip,
		.pid = record->pid,
		.tid = record->tid,
		.cpu = record->cpu,
		.domain = record->domid,
		.vcpu = record->vcpu,
		.mode = record->mode,
		.event = record->event,
		.is_caller = state && state->has_backtraces && !state->is_sample_next,
	};
	if (state)
		state->is_sample_next = false;
	sink->entry(sink->arg, &entry);
}

void vmop_xen_records_drain(struct vmop_xen_records *records, struct vmop_xen_rings *rings,
			    uint64_t up_to_ns, const struct vmop_xen_entry_sink *sink)
{
	const struct vmop_xendev_record *record;
	unsigned n = 0;
	vmop_xen_rings_refresh(rings);
	if (vmop_xen_rings_percent_used(rings) > FULL_PERCENT)
		up_to_ns = UINT64_MAX;
	while ((record = vmop_xen_rings_next(rings, up_to_ns))) {
		hand_over(records, record, sink);
		if (++n % FREE_EVERY(rings) == 0)
			vmop_xen_rings_free(rings);
	}
	vmop_xen_rings_free(rings);
	uint64_t lost = vmop_xen_rings_take_lost(rings);
	if (lost > 0)
		sink->lost(sink->arg, VMOP_XEN_DOMID_SELF, 0, lost);
}
