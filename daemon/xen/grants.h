// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The memory of a window (window.h), which an active domain grants to dom0, by libxengnttab: the
 * domain's kernel needs the driver xen-gntalloc, dom0's xen-gntdev. Xen itself refuses a page that
 * its domain has not granted to dom0, so no reference leads to another domain's memory. A page that
 * is mapped here stays until it is unmapped, also if its domain ends.
 */
#ifndef VMOP_DAEMON_XEN_GRANTS_H
#define VMOP_DAEMON_XEN_GRANTS_H

#include <stdint.h>

#include "daemon/xen/window.h"
#include "libutil/error.h"

/* Memory of VMOP_WINDOW_BYTES. */
struct vmop_granted {
	uint8_t *memory;
	void *handle;
};

struct vmop_grants_ops {
	/* In a domain: grant dom0 zeroed pages, and set refs to their references. */
	struct vmop_error *(*share)(uint32_t refs[VMOP_WINDOW_PAGES], struct vmop_granted *ret);
	void (*unshare)(struct vmop_granted *granted);
	/* In dom0: map the pages that a domain has granted. */
	struct vmop_error *(*map)(uint32_t domain, const uint32_t refs[VMOP_WINDOW_PAGES],
				  struct vmop_granted *ret);
	void (*unmap)(struct vmop_granted *granted);
};

/*
 * VMOP_ERROR_CANT, with the remedy: the driver is missing, the references are not valid, or vmop
 * was built without Xen's libraries. Tests have their own operations.
 */
extern const struct vmop_grants_ops vmop_grants_ops;

#endif
