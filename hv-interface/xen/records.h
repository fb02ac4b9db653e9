// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The kernel module's records (vmop/xen-device.h) as Xen's entries (xen/transport.h). With
 * backtraces it separates samples from their callers. A vCPU's first escape shows that it has
 * backtraces: in an active domain only dom0 knows before. One thread.
 */
#ifndef VMOP_HV_INTERFACE_XEN_RECORDS_H
#define VMOP_HV_INTERFACE_XEN_RECORDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hv-interface/xen/rings.h"
#include "hv-interface/xen/transport.h"
#include "hv-interface/xen/xenoprof-abi.h"
#include "libutil/error.h"

/* The entries before it in a vCPU's buffer determine the meaning of an entry. */
struct vmop_xen_records_vcpu {
	bool has_backtraces;
	bool is_sample_next; /* the last entry was an escape */
};

struct vmop_xen_records_domain {
	uint16_t id;
	uint32_t n_vcpus;
	struct vmop_xen_records_vcpu *vcpus;
};

/* {0}: no domain is known, so every entry is a sample. */
struct vmop_xen_records {
	struct vmop_xen_records_domain domains[1 + VMOP_XENOPROF_DOMAINS_MAX];
	size_t n_domains;
};

/*
 * Add a domain whose records may have backtraces (VMOP_XEN_DOMID_SELF: this one). The caller adds
 * no more domains than the struct has room for. Free with _deinit.
 */
struct vmop_error *vmop_xen_records_add(struct vmop_xen_records *records, uint16_t domain,
					uint32_t n_vcpus);
/* Forget all domains. */
void vmop_xen_records_deinit(struct vmop_xen_records *records);

/*
 * Deliver the records in the rings with a time before up_to_ns, or all if a ring is about to
 * overflow. Losses in the rings count as this domain's.
 */
void vmop_xen_records_drain(struct vmop_xen_records *records, struct vmop_xen_rings *rings,
			    uint64_t up_to_ns, const struct vmop_xen_entry_sink *sink);

#endif
