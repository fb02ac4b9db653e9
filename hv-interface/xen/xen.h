// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The xen source: what Xen's profiling samples in dom0, in passive domains and in Xen itself.  See
 * xen/transport.h for how samples come, xen/event.h for events.
 *
 * A sample of Xen's own code has VMOP_SAMPLE_HYPERVISOR, one of a passive domain
 * VMOP_SAMPLE_GUEST, one of this domain neither; source_domain and source_vcpu say where it was
 * taken, or on whose behalf.  Xen does not tell the physical CPU: cpu is UINT32_MAX.
 */
#ifndef VMOP_HV_INTERFACE_XEN_XEN_H
#define VMOP_HV_INTERFACE_XEN_XEN_H

#include "hv-interface/source.h"
#include "hv-interface/xen/transport.h"

extern const struct vmop_source_ops vmop_source_xen_ops;

/*
 * Opens the source over a way that it then owns, whatever happens (for tests; vmop_source_open
 * takes the best way there is).
 */
struct vmop_error *vmop_xen_open_over(struct vmop_xen_transport *transport,
				      const struct vmop_xen_machine *machine,
				      const struct vmop_source_setup *setup,
				      struct vmop_source **ret);

/* Whether this Xen samples at all; true where it can't be asked: opening the source says why. */
bool vmop_xen_has_xenoprof(void);

#endif
