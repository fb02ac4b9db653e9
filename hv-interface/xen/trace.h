// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A sample of Xen's while its callers arrive, one entry each. One vCPU's sample and callers follow
 * each other in a drain; an entry of another vCPU ends the trace. Callers without their sample (cut
 * by the end of a drain, or by a guest that writes to its buffer) belong to no trace. One thread.
 */
#ifndef VMOP_HV_INTERFACE_XEN_TRACE_H
#define VMOP_HV_INTERFACE_XEN_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hv-interface/xen/transport.h"
#include "vmop/record.h"
#include "vmop/stack.h"

/* All zero: no sample. */
struct vmop_xen_trace {
	bool is_open;
	struct vmop_record record;
	uint16_t domain, vcpu;
	uint8_t mode;
	size_t n;
	uint64_t frames[VMOP_STACK_FRAMES_MAX + 1]; /* the sample's address, then its callers */
};

/* Begin a trace with the sample in entry, whose record is copied. */
void vmop_xen_trace_begin(struct vmop_xen_trace *trace, const struct vmop_record *record,
			  const struct vmop_xen_entry *entry);

/* Add a caller, if it belongs to the sample. */
void vmop_xen_trace_add(struct vmop_xen_trace *trace, const struct vmop_xen_entry *entry);

/*
 * End the trace. Set *ret to its stack, which points into the trace: addresses of the mode of the
 * sample only. depth: the most callers that Xen adds. has_kernel_frames: the sampled kernel keeps
 * frame pointers; without them its code has no callers, for VMOP_STACK_NO_CFI. Return false if the
 * sample has no stack at all: it is of Xen's own code.
 */
bool vmop_xen_trace_end(struct vmop_xen_trace *trace, uint32_t depth, bool has_kernel_frames,
			struct vmop_stack_capture *ret);

#endif
