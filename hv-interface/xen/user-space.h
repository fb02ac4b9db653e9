// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The way to Xen's samples from user space alone (xen/transport.h): no module is needed, but nobody
 * tells which task ran.  All buffers are looked at whenever the source is drained.  Xen has an
 * interrupt for it (VIRQ_XENOPROF), which is not used: user space can have it of the first vCPU
 * alone, it comes for each single sample, and never for those of passive domains or Xen itself.
 * xen/owner-file.h has how the remains of one that was killed are known.
 */
#ifndef VMOP_HV_INTERFACE_XEN_USER_SPACE_H
#define VMOP_HV_INTERFACE_XEN_USER_SPACE_H

#include "hv-interface/xen/link.h"
#include "hv-interface/xen/transport.h"

/* What vmop_xen_transport_user_ops.open does, over a link that it then owns, whatever happens. */
struct vmop_error *vmop_xen_user_open(struct vmop_xen_link *link,
				      struct vmop_xen_machine *ret_machine,
				      struct vmop_xen_transport **ret);

/* Likewise, what vmop_xen_transport_active_ops.open does. */
struct vmop_error *vmop_xen_active_open(struct vmop_xen_link *link,
					struct vmop_xen_machine *ret_machine,
					struct vmop_xen_transport **ret);

#endif
