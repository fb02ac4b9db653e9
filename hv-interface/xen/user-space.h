// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The transport from user space (xen/transport.h). It needs no module, but the samples have no
 * tasks.
 *
 * Each drain reads all buffers. Xen's interrupt for them (VIRQ_XENOPROF) is not used: user space
 * can receive only the first vCPU's, it comes for each single sample, and never for samples of
 * passive domains or of Xen. See xen/owner-file.h for the remains of a killed vmopd.
 */
#ifndef VMOP_HV_INTERFACE_XEN_USER_SPACE_H
#define VMOP_HV_INTERFACE_XEN_USER_SPACE_H

#include "hv-interface/xen/link.h"
#include "hv-interface/xen/transport.h"

/*
 * Implement vmop_xen_transport_user_ops.open over a link, which it owns from now on, also on
 * errors.
 */
struct vmop_error *vmop_xen_user_open(struct vmop_xen_link *link,
				      struct vmop_xen_machine *ret_machine,
				      struct vmop_xen_transport **ret);

/* Implement vmop_xen_transport_active_ops.open in the same way. */
struct vmop_error *vmop_xen_active_open(struct vmop_xen_link *link,
					struct vmop_xen_machine *ret_machine,
					struct vmop_xen_transport **ret);

#endif
