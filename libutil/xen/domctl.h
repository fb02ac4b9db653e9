// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Xen's control interface for domains (domctl), from dom0's user space.
 *
 * The interface has a version, which Xen raises from time to time (0x15 is 4.17's), and Xen refuses
 * others. The parts that vmop uses are the same from version 9 (Xen 4.3) to 0x18 (4.22), so the
 * version is found by trial. libxenctrl, which each Xen release brings under a new name, is not
 * needed. Only the users of this folder link with Xen's libraries. Thread: one at a time for each
 * object.
 */
#ifndef VMOP_LIBUTIL_XEN_DOMCTL_H
#define VMOP_LIBUTIL_XEN_DOMCTL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vmop_error;
struct xen_domctl;
struct xencall_handle;

struct vmop_xen_domctl {
	struct xencall_handle *call;
	uint32_t version;
	/* One page that a hypercall can reach. Xen may copy slightly more than the struct. */
	struct xen_domctl *domctl;
};

/*
 * Open the control interface. Close with vmop_xen_domctl_close, also after an error.
 * VMOP_ERROR_CANT names the missing part: Xen, the privilege, or a known version.
 */
struct vmop_error *vmop_xen_domctl_open(struct vmop_xen_domctl *domctl);
void vmop_xen_domctl_close(struct vmop_xen_domctl *domctl);

/* Clear the arguments of the next call, and return them. */
struct xen_domctl *vmop_xen_domctl_begin(struct vmop_xen_domctl *domctl);
/* Call Xen with a command (XEN_DOMCTL_*). Return -1 with errno after an error. */
int vmop_xen_domctl_call(struct vmop_xen_domctl *domctl, uint32_t domid, uint32_t command);

#endif
