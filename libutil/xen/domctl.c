// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/xen/domctl.h"

#include <errno.h>
#include <string.h>

#define __XEN_TOOLS__ 1 /* NOLINT: required by xen/domctl.h */
#include <xen/xen.h>
/* domctl.h needs the definitions of xen.h. */
#include <xen/domctl.h>
#include <xencall.h>

#include "libutil/error.h"
#include "libutil/xen/silence.h"

#define FIRST_VERSION 0x09u
#define LAST_VERSION 0x1fu

struct xen_domctl *vmop_xen_domctl_begin(struct vmop_xen_domctl *domctl)
{
	memset(domctl->domctl, 0, sizeof(*domctl->domctl));
	return domctl->domctl;
}

int vmop_xen_domctl_call(struct vmop_xen_domctl *domctl, uint32_t domid, uint32_t command)
{
	domctl->domctl->cmd = command;
	domctl->domctl->domain = (domid_t)domid;
	domctl->domctl->interface_version = domctl->version;
	return xencall1(domctl->call, __HYPERVISOR_domctl, (uintptr_t)domctl->domctl);
}

/* Xen rejects a version other than its own with EACCES before any other check. */
static bool try_version(struct vmop_xen_domctl *domctl, uint32_t version)
{
	vmop_xen_domctl_begin(domctl);
	domctl->version = version;
	return vmop_xen_domctl_call(domctl, 0, XEN_DOMCTL_getdomaininfo) >= 0 || errno != EACCES;
}

static struct vmop_error *find_version(struct vmop_xen_domctl *domctl)
{
	bool is_found = try_version(domctl, XEN_DOMCTL_INTERFACE_VERSION);
	for (uint32_t version = LAST_VERSION; !is_found && version >= FIRST_VERSION; version--)
		is_found = try_version(domctl, version);
	if (!is_found)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "vmop does not support the version of this Xen's control "
				      "interface (domctl) and cannot read its guests");
	return NULL;
}

struct vmop_error *vmop_xen_domctl_open(struct vmop_xen_domctl *domctl)
{
	_Static_assert(sizeof(*domctl->domctl) <= 4096, "fits its buffer");
	*domctl = (struct vmop_xen_domctl){0};
	domctl->call = xencall_open(vmop_xen_silence(), 0);
	if (!domctl->call)
		return vmop_error_os(errno, "/dev/xen/privcmd");
	domctl->domctl = xencall_alloc_buffer_pages(domctl->call, 1);
	return domctl->domctl ? find_version(domctl) : &vmop_error_no_memory;
}

void vmop_xen_domctl_close(struct vmop_xen_domctl *domctl)
{
	if (domctl->domctl)
		xencall_free_buffer_pages(domctl->call, domctl->domctl, 1);
	if (domctl->call)
		xencall_close(domctl->call);
	*domctl = (struct vmop_xen_domctl){0};
}
