// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Xen as a privileged process reaches it: hypercalls and shared frames by /dev/xen/privcmd
 * (linux/include/uapi/xen/privcmd.h).  A table, so that tests can stand in for a Xen that answers
 * as none at hand does.
 *
 * Xen's own libraries (libxencall, ...) wrap the same few calls; without them a vmopd built here
 * runs on hosts that have none.
 */
#ifndef VMOP_HV_INTERFACE_XEN_LINK_H
#define VMOP_HV_INTERFACE_XEN_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"

struct vmop_xen_link;

struct vmop_xen_link_ops {
	/*
	 * The profiling hypercall; arg's len_bytes (a page at the most) go to Xen and come back.
	 * What Xen answered: 0 or more, or a negative errno.
	 */
	int (*xenoprof)(struct vmop_xen_link *link, unsigned op, void *arg, size_t len_bytes);
	/* Frames that Xen shares with this domain, from a page's address on. NULL: errno says why.
	 */
	void *(*map)(struct vmop_xen_link *link, uint64_t address, size_t n_pages);
	void (*unmap)(struct vmop_xen_link *link, void *memory, size_t n_pages);
	void (*close)(struct vmop_xen_link *link);
};

struct vmop_xen_link {
	const struct vmop_xen_link_ops *ops;
};

/*
 * VMOP_ERROR_NOT_FOUND: this is no Xen domain, or not one that may control others (a domU);
 * VMOP_ERROR_CANT: no permission, or the kernel's drivers are not loaded, with what to do.
 */
struct vmop_error *vmop_xen_link_open(struct vmop_xen_link **ret);

/*
 * The same in a domU, for the calls that it may make: VMOP_ERROR_NOT_FOUND anywhere else;
 * VMOP_ERROR_CANT also where the kernel lets no program there make any: since Xen's advisory 482
 * (Debian's 5.10.262, 6.1.0-56, 6.12.95) xen-privcmd does only with its parameter unrestricted.
 */
struct vmop_error *vmop_xen_link_open_domu(struct vmop_xen_link **ret);

/* Whether this is a Xen domain that controls others: root/proc/xen/capabilities; NULL root: "". */
bool vmop_xen_is_control_domain(const char *root);

/* Whether this is one that doesn't: /sys/hypervisor/type says xen. */
bool vmop_xen_is_domu(void);

#endif
