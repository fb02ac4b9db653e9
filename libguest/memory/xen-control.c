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

#include "libutil/cleanup.h"
#include "libutil/error.h"
#include "libutil/xen/domctl.h"

#define X86_CR4_LA57 (UINT64_C(1) << 12)
#define MAX_VCPU_ID 8191u /* HVM_MAX_VCPUS and MAX_VIRT_CPUS are lower */

struct vmop_guest_xen_control {
	struct vmop_xen_domctl domctl;
	vcpu_guest_context_t *context; /* in memory that a hypercall can reach */
};

static void control_cleanup(struct vmop_guest_xen_control **control)
{
	vmop_guest_xen_control_close(*control);
}

struct vmop_error *vmop_guest_xen_control_open(struct vmop_guest_xen_control **ret)
{
	_cleanup_(control_cleanup) struct vmop_guest_xen_control *control =
		calloc(1, sizeof(*control));
	if (!control)
		return &vmop_error_no_memory;
	_Static_assert(sizeof(*control->context) <= 2 * 4096, "fits its buffer");
	struct vmop_error *err = vmop_xen_domctl_open(&control->domctl);
	if (err)
		return err;
	control->context = xencall_alloc_buffer_pages(control->domctl.call, 2);
	if (!control->context)
		return &vmop_error_no_memory;
	*ret = vmop_steal(&control);
	return NULL;
}

void vmop_guest_xen_control_close(struct vmop_guest_xen_control *control)
{
	if (!control)
		return;
	if (control->context)
		xencall_free_buffer_pages(control->domctl.call, control->context, 2);
	vmop_xen_domctl_close(&control->domctl);
	free(control);
}

struct vmop_error *vmop_guest_xen_control_info(struct vmop_guest_xen_control *control,
					       uint32_t domid, struct vmop_guest_xen_info *ret)
{
	const struct xen_domctl *answer = vmop_xen_domctl_begin(&control->domctl);
	if (vmop_xen_domctl_call(&control->domctl, domid, XEN_DOMCTL_getdomaininfo) < 0) {
		if (errno == ESRCH)
			return vmop_error_new(VMOP_ERROR_NOT_FOUND, "there is no Xen domain %u",
					      domid);
		return vmop_error_os(errno, "Xen domain %u", domid);
	}
	const struct xen_domctl_getdomaininfo *info = &answer->u.getdomaininfo;
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
	struct xen_domctl *request = vmop_xen_domctl_begin(&control->domctl);
	memset(control->context, 0, sizeof(*control->context));
	request->u.vcpucontext.vcpu = vcpu;
	set_xen_guest_handle(request->u.vcpucontext.ctxt, control->context);
	if (vmop_xen_domctl_call(&control->domctl, domid, XEN_DOMCTL_getvcpucontext) < 0 ||
	    !(control->context->flags & VGCF_online))
		return false;
	*ret = (struct vmop_guest_xen_registers){
		.cr3 = control->context->ctrlreg[3],
		.has_5_levels = control->context->ctrlreg[4] & X86_CR4_LA57,
	};
	return true;
}
