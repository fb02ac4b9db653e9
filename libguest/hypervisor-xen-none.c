// SPDX-License-Identifier: GPL-2.0-or-later
/* Stubs for builds without Xen's libraries. */
#include "libguest/hypervisor-xen.h"

size_t vmop_hypervisor_xen_build_id(uint8_t *ret, size_t max_bytes)
{
	(void)ret, (void)max_bytes;
	return 0;
}

struct vmop_error *vmop_hypervisor_xen_write_symbols(int fd)
{
	(void)fd;
	return vmop_error_new(VMOP_ERROR_CANT,
			      "vmop was built without Xen's libraries (libxen-dev)");
}
