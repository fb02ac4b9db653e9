// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The memory and registers of a Xen domain, read in dom0. Frames are read through foreign mappings
 * (libxenforeignmemory), and the rest by XEN_DOMCTL_getdomaininfo and _getvcpucontext
 * (xen/domctl.h) through libxencall.
 *
 * An address here is a value from the domain's page tables: guest-physical in HVM and PVH domains,
 * a machine address in PV ones (their "pseudo-physical" numbers exist only in the guest). Xen maps
 * a frame only when it belongs to the requested domain. The handle is also restricted to that
 * domain (IOCTL_PRIVCMD_RESTRICT). No content of a guest's page tables can therefore lead to
 * another domain's memory.
 *
 * Frames are mapped read-only, in windows of neighbouring frames, and stay mapped for some seconds.
 * A frame that the domain gives back meanwhile (ballooning) stays readable until then, which does
 * no harm. Frames that the domain does not have cannot be read.
 *
 * Thread: one at a time for each object.
 */
#ifndef VMOP_LIBGUEST_MEMORY_XEN_H
#define VMOP_LIBGUEST_MEMORY_XEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libguest/memory/paging.h"

struct vmop_error;
struct vmop_guest_xen;

/*
 * Open a domain. The caller closes *ret. VMOP_ERROR_CANT: not in a privileged Xen domain, no
 * permission, or built without Xen's libraries. VMOP_ERROR_NOT_FOUND: no such domain.
 */
struct vmop_error *vmop_guest_xen_open(uint32_t domid, struct vmop_guest_xen **ret);
void vmop_guest_xen_close(struct vmop_guest_xen *xen); /* NULL is allowed */

/* Return whether this is a PV domain, whose neighbouring frames lie anywhere in the machine. */
bool vmop_guest_xen_is_pv(const struct vmop_guest_xen *xen);
/* Return the bytes of RAM that the domain had when it was opened. */
uint64_t vmop_guest_xen_ram_bytes(const struct vmop_guest_xen *xen);

/*
 * Read len_bytes at address. Return false, with buf undefined, when a frame does not belong to the
 * domain.
 */
bool vmop_guest_xen_read(struct vmop_guest_xen *xen, uint64_t address, void *buf, size_t len_bytes);

/* The maximum number of frames in one gather. */
#define VMOP_GUEST_XEN_GATHER 64u
/*
 * Copy n frames to buf, one after another: the frame at address[i] & ~4095 to buf + i * 4096, or
 * zeros where the domain has none. One call to Xen reads all of them, wherever they lie.
 */
void vmop_guest_xen_gather(struct vmop_guest_xen *xen, const uint64_t *address, size_t n,
			   uint8_t *buf);

/* Unmap windows that are more than some seconds old. */
void vmop_guest_xen_age(struct vmop_guest_xen *xen);

/*
 * Write the page tables that the domain's first vCPUs use now to ret, at most max of them. Each
 * vCPU is stopped for some microseconds. Where user space can have its own table (KPTI), the
 * kernel's table is added as well. Return the number written.
 */
size_t vmop_guest_xen_roots(struct vmop_guest_xen *xen, struct vmop_paging *ret, size_t max);

#endif
