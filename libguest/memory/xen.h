// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A Xen domain's memory and registers, from dom0: frames through foreign mappings
 * (libxenforeignmemory), the rest by XEN_DOMCTL_getdomaininfo and _getvcpucontext
 * (xen/domctl.h), called through libxencall.
 *
 * An address here is what the domain's page tables hold: guest-physical for HVM and PVH
 * domains, machine addresses for PV ones (their "pseudo-physical" numbering exists in the guest
 * alone).  Xen maps a frame only when it belongs to the domain that it was asked of, and
 * the handle is restricted to that domain besides (IOCTL_PRIVCMD_RESTRICT), so whatever a
 * guest's page tables say, no other domain's memory is ever read.
 *
 * Frames are mapped by windows of neighbours, read-only, and kept for some seconds.  What
 * the domain gives back meanwhile (ballooning) stays readable until then and is no harm; frames
 * that it does not have can't be read.
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
 * VMOP_ERROR_CANT: not in a privileged Xen domain, no permission, or built without Xen's
 * libraries; VMOP_ERROR_NOT_FOUND: there is no such domain.
 */
struct vmop_error *vmop_guest_xen_open(uint32_t domid, struct vmop_guest_xen **ret);
void vmop_guest_xen_close(struct vmop_guest_xen *xen); /* NULL is allowed */

/* A PV domain: neighbouring frames of the guest are anywhere in the machine. */
bool vmop_guest_xen_is_pv(const struct vmop_guest_xen *xen);
/* What it had when it was opened. */
uint64_t vmop_guest_xen_ram_bytes(const struct vmop_guest_xen *xen);

/* Reads len_bytes at address. False, with buf undefined, when a frame of it isn't the domain's. */
bool vmop_guest_xen_read(struct vmop_guest_xen *xen, uint64_t address, void *buf, size_t len_bytes);

/* The most frames of one gather. */
#define VMOP_GUEST_XEN_GATHER 64u
/*
 * Copies n frames, one behind the other in buf: that at address[i] & ~4095 to buf + i * 4096, or
 * zeros where the domain has none there.  One call of Xen's for all of them, wherever they are.
 */
void vmop_guest_xen_gather(struct vmop_guest_xen *xen, const uint64_t *address, size_t n,
			   uint8_t *buf);

/* Gives up mappings that are some seconds old. */
void vmop_guest_xen_age(struct vmop_guest_xen *xen);

/*
 * The page tables that the domain's first vCPUs run on at this moment (each is stopped for
 * some microseconds), up to max; and, where user space may have its own (KPTI), the kernel's
 * beside it.  Returns how many.
 */
size_t vmop_guest_xen_roots(struct vmop_guest_xen *xen, struct vmop_paging *ret, size_t max);

#endif
