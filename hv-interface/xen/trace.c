// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/xen/trace.h"

#include "hv-interface/xen/xenoprof-abi.h"

/*
 * The halves of the address space (x86-64, page tables of 4 or 5 levels): user code is below 2^56,
 * kernel code has the highest bits.
 */
#define HALF_BITS 56
#define KERNEL_HALF (UINT64_MAX >> HALF_BITS)

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

/* Return how many of the frames are in that half, with the sample itself. */
static size_t count_in_half(const struct vmop_xen_trace *trace, uint64_t half)
{
	size_t n = 1;
	while (n < trace->n && trace->frames[n] >> HALF_BITS == half)
		n++;
	return n;
}

bool vmop_xen_trace_end(struct vmop_xen_trace *trace, uint32_t depth, bool has_kernel_frames,
			struct vmop_stack_capture *ret)
{
	bool is_kernel = trace->mode == VMOP_XENOPROF_MODE_KERNEL;
	size_t n = count_in_half(trace, is_kernel ? KERNEL_HALF : 0);
	*ret = (struct vmop_stack_capture){0};
	trace->is_open = false;
	if (trace->mode == VMOP_XENOPROF_MODE_XEN)
		return false;
	if (n < trace->n)
		ret->user_end = VMOP_STACK_TORN;
	else if (n > depth)
		ret->user_end = VMOP_STACK_DEPTH_LIMIT;
	else if (is_kernel)
		ret->user_end = VMOP_STACK_NOT_RECORDED;
	if (!is_kernel) {
		ret->user_frames = trace->frames;
		ret->n_user_frames = n;
		return true;
	}
	ret->kernel_frames = trace->frames;
	ret->n_kernel_frames = has_kernel_frames ? n : 1;
	if (!has_kernel_frames)
		ret->user_end = VMOP_STACK_NO_CFI;
	return true;
}
