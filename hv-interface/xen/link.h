// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A privileged process's access to Xen: hypercalls and shared frames by /dev/xen/privcmd
 * (linux/include/uapi/xen/privcmd.h). A table, so that tests can replace Xen by a model with rare
 * answers.
 *
 * Xen's own libraries (libxencall, ...) wrap the same few calls. Without them vmopd also runs on
 * hosts that do not have them. One thread.
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
	 * Make the profiling hypercall. arg's len_bytes (at most a page) go to Xen and come back.
	 * Return Xen's result: 0 or more, or a negative errno.
	 */
	int (*xenoprof)(struct vmop_xen_link *link, unsigned op, void *arg, size_t len_bytes);
	/*
	 * Map n_pages frames that Xen shares with this domain, from a page's address on. Return
	 * NULL with errno on failure.
	 */
	void *(*map)(struct vmop_xen_link *link, uint64_t address, size_t n_pages);
	void (*unmap)(struct vmop_xen_link *link, void *memory, size_t n_pages);
	/* Return 1 for an HVM or PVH domain, 0 for a PV one, or a negative errno. */
	int (*is_hvm)(struct vmop_xen_link *link, uint16_t domain);
	/*
	 * Read the configuration that Xen was built with: a text, compressed by gzip. Return its
	 * length in bytes, or a negative errno (ENOBUFS: longer than size_bytes; ENOSYS: before
	 * Xen 4.14, or built without it).
	 */
	int (*read_config)(struct vmop_xen_link *link, void *buf, size_t size_bytes);
	void (*close)(struct vmop_xen_link *link);
};

struct vmop_xen_link {
	const struct vmop_xen_link_ops *ops;
};

/*
 * Open a link; free it with its close. VMOP_ERROR_NOT_FOUND: not a Xen domain, or not one that may
 * control others (a domU). VMOP_ERROR_CANT: no permission, or the kernel's drivers are not loaded;
 * the message has the remedy.
 */
struct vmop_error *vmop_xen_link_open(struct vmop_xen_link **ret);

/*
 * Open a link in a domU, for the calls that it may make. VMOP_ERROR_NOT_FOUND: not a domU.
 * VMOP_ERROR_CANT: see above, or the kernel permits no program such calls: since Xen's advisory 482
 * (Debian's 5.10.262, 6.1.0-56, 6.12.95) xen-privcmd does only with its parameter unrestricted.
 */
struct vmop_error *vmop_xen_link_open_domu(struct vmop_xen_link **ret);

/*
 * Return whether this is a Xen domain that controls others, by root/proc/xen/capabilities; NULL
 * root: "".
 */
bool vmop_xen_is_control_domain(const char *root);

/* Return whether this is a Xen domain that does not control others, by /sys/hypervisor/type. */
bool vmop_xen_is_domu(void);

#endif
