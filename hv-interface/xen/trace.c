// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/xen/trace.h"

#include "hv-interface/xen/xenoprof-abi.h"

/* Kernels have the upper half of the addresses (x86-64: Linux's and Xen's layouts). */
#define KERNEL_BIT (UINT64_C(1) << 63)

void vmop_xen_trace_begin(struct vmop_xen_trace *trace, const struct vmop_record *record,
			  const struct vmop_xen_entry *entry)
{
	trace->is_open = true;
	trace->record = *record;
	trace->domain = entry->domain;
	trace->vcpu = entry->vcpu;
	trace->mode = entry->mode;
	trace->frames[0] = entry->ip;
	trace->n = 1;
}

void vmop_xen_trace_add(struct vmop_xen_trace *trace, const struct vmop_xen_entry *entry)
{
	if (trace->is_open && entry->domain == trace->domain && entry->vcpu == trace->vcpu &&
	    entry->mode == trace->mode && trace->n < VMOP_STACK_FRAMES_MAX + 1)
		trace->frames[trace->n++] = entry->ip;
}

/* Return how many of the frames are addresses of a kernel's. */
static size_t count_kernel_frames(const struct vmop_xen_trace *trace)
{
	size_t n = 1;
	while (n < trace->n && trace->frames[n] & KERNEL_BIT)
		n++;
	return n;
}

static void end_kernel(const struct vmop_xen_trace *trace, bool is_deepest, bool has_frames,
		       struct vmop_stack_capture *ret)
{
	size_t n = has_frames ? count_kernel_frames(trace) : 1;
	ret->kernel_frames = trace->frames;
	ret->n_kernel_frames = n;
	ret->user_end = !has_frames    ? VMOP_STACK_NO_CFI
			: n < trace->n ? VMOP_STACK_TORN
			: is_deepest   ? VMOP_STACK_DEPTH_LIMIT
				       : VMOP_STACK_NOT_RECORDED;
}

bool vmop_xen_trace_end(struct vmop_xen_trace *trace, uint32_t depth, bool is_own,
			bool has_kernel_frames, struct vmop_stack_capture *ret)
{
	bool is_deepest = trace->n > depth;
	*ret = (struct vmop_stack_capture){0};
	trace->is_open = false;
	if (trace->mode == VMOP_XENOPROF_MODE_XEN)
		return false;
	if (trace->mode == VMOP_XENOPROF_MODE_KERNEL) {
		end_kernel(trace, is_deepest, has_kernel_frames || !is_own, ret);
		return true;
	}
	ret->user_frames = trace->frames;
	ret->n_user_frames = trace->n;
	if (is_deepest)
		ret->user_end = VMOP_STACK_DEPTH_LIMIT;
	return true;
}
