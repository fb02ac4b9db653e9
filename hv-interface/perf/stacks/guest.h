// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The context of a guest in a sample of the BPF output event: PERF_SAMPLE_RAW (enum perf_event_type
 * in linux/perf_event.h), with a struct vmop_bpf_guest of bpf/layout.h. The BPF program writes it
 * in place of perf's sample of a guest, or in front of perf's sample of the host's work for a vCPU.
 * It is read in place and not trusted: every number that the reader relies on is checked.
 */
#ifndef VMOP_HV_INTERFACE_PERF_STACKS_GUEST_H
#define VMOP_HV_INTERFACE_PERF_STACKS_GUEST_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vmop/guest-context.h"

/* The sample that the record replaces or precedes. */
struct vmop_perf_guest {
	bool is_state;	/* it precedes a sample: VMOP_BPF_GUEST_STATE */
	uint16_t event; /* below n_events */
	uint64_t period_events;
	const struct vmop_guest_context *context; /* in the record, with its windows */
};

/*
 * Return the kind of the program's record that begins at_bytes after the start of the perf record,
 * or 0 if that ends before. The kind can be any number.
 */
uint32_t vmop_perf_guest_kind(const struct perf_event_header *header, size_t at_bytes);

/*
 * Decode the part that begins at_bytes after the start of the record, a multiple of 8. Return the
 * offset of its end, or 0 for a malformed record.
 */
size_t vmop_perf_guest_decode(const struct perf_event_header *header, size_t at_bytes,
			      size_t n_events, struct vmop_perf_guest *ret);

#endif
