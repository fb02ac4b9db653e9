// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/active-check.h"

#include <string.h>

#include "hv-interface/xen/device.h"
#include "hv-interface/xen/link.h"
#include "libutil/cleanup.h"
#include "libutil/io.h"

/* Check the type of the domain: Xen offers its profiling hypercall only to PV domains. */
static struct vmop_error *check_domain(void)
{
	_cleanup_free_ char *type = NULL;
	size_t len_bytes;
	if (!vmop_xen_is_domu())
		return vmop_error_new(VMOP_ERROR_CANT,
				      "--active needs a domU of Xen, and this is not one");
	vmop_error_destroy(vmop_io_read_file("/sys/hypervisor/guest_type", 64, &type, &len_bytes));
	if (type && strncmp(type, "PV\n", 3) != 0)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "--active: only PV domains of Xen can take their own "
				      "samples, and this is a %.*s domain; it can be a passive "
				      "guest, which needs nothing here",
				      (int)strcspn(type, "\n"), type);
	return NULL;
}

bool vmop_active_is_domu(void)
{
	return vmop_xen_is_domu();
}

struct vmop_error *vmop_active_check(void)
{
	struct vmop_xen_link *link;
	struct vmop_error *err = check_domain();
	if (err || vmop_xen_device_is_there())
		return err;
	err = vmop_xen_link_open_domu(&link);
	if (!err)
		link->ops->close(link);
	return err;
}
