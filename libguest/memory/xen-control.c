// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/memory/xen-control.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define __XEN_TOOLS__ 1 /* NOLINT: required by xen/domctl.h */
#include <xen/xen.h>
/* domctl.h needs the definitions of xen.h. */
#include <xen/domctl.h>
#include <xencall.h>

#include "libguest/memory/xen-silence.h"
#include "libutil/cleanup.h"
#include "libutil/error.h"

#define FIRST_VERSION 0x09u
#define LAST_VERSION 0x1fu
#define X86_CR4_LA57 (UINT64_C(1) << 12)
#define MAX_VCPU_ID 8191u /* HVM_MAX_VCPUS and MAX_VIRT_CPUS are lower */

struct vmop_guest_xen_control {
	xencall_handle *call;
	uint32_t version;
	/* Memory that a hypercall can reach. Xen may copy slightly more than the struct. */
	struct xen_domctl *domctl;
	vcpu_guest_context_t *context;
};

static void control_cleanup(struct vmop_guest_xen_control **control)
{
	vmop_guest_xen_control_close(*control);
}

static int call(struct vmop_guest_xen_control *control, uint32_t domid, uint32_t command)
{
	control->domctl->cmd = command;
	control->domctl->domain = (domid_t)domid;
	control->domctl->interface_version = control->version;
	return xencall1(control->call, __HYPERVISOR_domctl, (uintptr_t)control->domctl);
}

/* Xen rejects a version other than its own with EACCES before any other check. */
static bool try_version(struct vmop_guest_xen_control *control, uint32_t version)
{
	memset(control->domctl, 0, sizeof(*control->domctl));
	control->version = version;
	return call(control, 0, XEN_DOMCTL_getdomaininfo) >= 0 || errno != EACCES;
}

static struct vmop_error *find_version(struct vmop_guest_xen_control *control)
{
	bool is_found = try_version(control, XEN_DOMCTL_INTERFACE_VERSION);
	for (uint32_t version = LAST_VERSION; !is_found && version >= FIRST_VERSION; version--)
		is_found = try_version(control, version);
	if (!is_found)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "vmop does not support the version of this Xen's control "
				      "interface (domctl) and cannot read its guests");
	return NULL;
}

struct vmop_error *vmop_guest_xen_control_open(struct vmop_guest_xen_control **ret)
{
	_cleanup_(control_cleanup) struct vmop_guest_xen_control *control =
		calloc(1, sizeof(*control));
	if (!control)
		return &vmop_error_no_memory;
	control->call = xencall_open(vmop_guest_xen_silence(), 0);
	if (!control->call)
		return vmop_error_os(errno, "/dev/xen/privcmd");
	control->domctl = xencall_alloc_buffer_pages(control->call, 1);
	control->context = xencall_alloc_buffer_pages(control->call, 2);
	if (!control->domctl || !control->context)
		return &vmop_error_no_memory;
	_Static_assert(sizeof(*control->context) <= 2 * 4096, "fits its buffer");
	_Static_assert(sizeof(*control->domctl) <= 4096, "fits its buffer");
	struct vmop_error *err = find_version(control);
	if (!err)
		*ret = vmop_steal(&control);
	return err;
}

void vmop_guest_xen_control_close(struct vmop_guest_xen_control *control)
{
	if (!control)
		return;
	if (control->context)
		xencall_free_buffer_pages(control->call, control->context, 2);
	if (control->domctl)
		xencall_free_buffer_pages(control->call, control->domctl, 1);
	if (control->call)
		xencall_close(control->call);
	free(control);
}

struct vmop_error *vmop_guest_xen_control_info(struct vmop_guest_xen_control *control,
					       uint32_t domid, struct vmop_guest_xen_info *ret)
{
	memset(control->domctl, 0, sizeof(*control->domctl));
	if (call(control, domid, XEN_DOMCTL_getdomaininfo) < 0) {
		if (errno == ESRCH)
			return vmop_error_new(VMOP_ERROR_NOT_FOUND, "there is no Xen domain %u",
					      domid);
		return vmop_error_os(errno, "Xen domain %u", domid);
	}
	const struct xen_domctl_getdomaininfo *info = &control->domctl->u.getdomaininfo;
	/* XEN_DOMCTL_getdomaininfo returns the next domain when none has that id. */
	if (info->domain != domid || info->flags & XEN_DOMINF_dying)
		return vmop_error_new(VMOP_ERROR_NOT_FOUND, "there is no Xen domain %u", domid);
	*ret = (struct vmop_guest_xen_info){
		.is_hvm = info->flags & XEN_DOMINF_hvm_guest,
		.ram_pages = info->tot_pages,
		.max_vcpu_id = info->max_vcpu_id > MAX_VCPU_ID ? 0 : info->max_vcpu_id,
	};
	return NULL;
}

bool vmop_guest_xen_control_registers(struct vmop_guest_xen_control *control, uint32_t domid,
				      uint32_t vcpu, struct vmop_guest_xen_registers *ret)
{
	memset(control->domctl, 0, sizeof(*control->domctl));
	memset(control->context, 0, sizeof(*control->context));
	control->domctl->u.vcpucontext.vcpu = vcpu;
	set_xen_guest_handle(control->domctl->u.vcpucontext.ctxt, control->context);
	if (call(control, domid, XEN_DOMCTL_getvcpucontext) < 0 ||
	    !(control->context->flags & VGCF_online))
		return false;
	*ret = (struct vmop_guest_xen_registers){
		.cr3 = control->context->ctrlreg[3],
		.has_5_levels = control->context->ctrlreg[4] & X86_CR4_LA57,
	};
	return true;
}
