// SPDX-License-Identifier: GPL-2.0-or-later
/* Stubs for builds without Xen's libraries, and for machines other than x86-64. */
#include "libguest/memory/xen.h"
#include "libutil/error.h"

struct vmop_error *vmop_guest_xen_open(uint32_t domid, struct vmop_guest_xen **ret)
{
	(void)ret;
	return vmop_error_new(VMOP_ERROR_CANT,
			      "Xen domain %u cannot be read: vmop was built without Xen's "
			      "libraries (libxen-dev)",
			      domid);
}

void vmop_guest_xen_close(struct vmop_guest_xen *xen)
{
	(void)xen;
}

bool vmop_guest_xen_is_pv(const struct vmop_guest_xen *xen)
{
	(void)xen;
	return false;
}

uint64_t vmop_guest_xen_ram_bytes(const struct vmop_guest_xen *xen)
{
	(void)xen;
	return 0;
}

bool vmop_guest_xen_read(struct vmop_guest_xen *xen, uint64_t address, void *buf, size_t len_bytes)
{
	(void)xen, (void)address, (void)buf, (void)len_bytes;
	return false;
}

void vmop_guest_xen_gather(struct vmop_guest_xen *xen, const uint64_t *address, size_t n,
			   uint8_t *buf)
{
	(void)xen, (void)address, (void)n, (void)buf;
}

void vmop_guest_xen_age(struct vmop_guest_xen *xen)
{
	(void)xen;
}

size_t vmop_guest_xen_roots(struct vmop_guest_xen *xen, struct vmop_paging *ret, size_t max)
{
	(void)xen, (void)ret, (void)max;
	return 0;
}
