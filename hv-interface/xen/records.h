// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What the kernel module's records say (vmop/xen-device.h), as entries of Xen's (xen/transport.h):
 * with backtraces, which of them are samples and which their callers.  One thread.
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

/* One domain's vCPUs; what comes before an entry in a vCPU's buffer says what the entry is. */
struct vmop_xen_records_domain {
	uint16_t id;
	uint32_t n_vcpus;
	bool *is_sample_next; /* of each vCPU: the last entry was an escape */
};

/* {0} is one without backtraces, where everything is a sample. */
struct vmop_xen_records {
	struct vmop_xen_records_domain domains[1 + VMOP_XENOPROF_DOMAINS_MAX];
	size_t n_domains;
};

/*
 * From now on the records of that domain (VMOP_XEN_DOMID_SELF: this one) hold backtraces.  At most
 * as many domains as there is room for, which is the caller's to see to.  Freed by _deinit.
 */
struct vmop_error *vmop_xen_records_add(struct vmop_xen_records *records, uint16_t domain,
					uint32_t n_vcpus);
/* All domains are forgotten. */
void vmop_xen_records_deinit(struct vmop_xen_records *records);

/*
 * Takes what is in the rings with a time before up_to_ns, or everything when one of them is about
 * to run over, and hands it over; what was lost in the rings is told of as this domain's.
 */
void vmop_xen_records_drain(struct vmop_xen_records *records, struct vmop_xen_rings *rings,
			    uint64_t up_to_ns, const struct vmop_xen_entry_sink *sink);

#endif
