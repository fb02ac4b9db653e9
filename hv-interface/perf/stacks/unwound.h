// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The stack in a sample of the BPF output event: PERF_SAMPLE_RAW, after the callchain
 * (enum perf_event_type in linux/perf_event.h), with the record of bpf/layout.h. The BPF program
 * writes it in place of a sample of perf's own. It is read in place and not trusted: every count
 * and size is checked.
 */
#ifndef VMOP_HV_INTERFACE_PERF_STACKS_UNWOUND_H
#define VMOP_HV_INTERFACE_PERF_STACKS_UNWOUND_H

#include <linux/perf_event.h>
#include <stddef.h>
#include <stdint.h>

#include "vmop/stack.h"

/* The sample that the record replaces. */
struct vmop_perf_unwound {
	uint16_t event; /* below n_events */
	uint64_t period_events;
};

/*
 * Decode the part that begins at_bytes after the start of the record, and add its user frames to
 * *stack. Return the offset of its end, or 0 for a malformed record.
 */
size_t vmop_perf_unwound_decode(const struct perf_event_header *header, size_t at_bytes,
				size_t n_events, struct vmop_stack_capture *stack,
				struct vmop_perf_unwound *ret);

#endif
