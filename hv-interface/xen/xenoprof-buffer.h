// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The reading side of the rings that Xen shares: one a vCPU.  Everything in one but what was
 * learnt when it was mapped may change under the reader's hands, to anything, when a domain
 * that isn't trusted can write it too.
 */
#ifndef VMOP_HV_INTERFACE_XEN_XENOPROF_BUFFER_H
#define VMOP_HV_INTERFACE_XEN_XENOPROF_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hv-interface/xen/xenoprof-abi.h"

/*
 * A vCPU's ring and how far it has been read.  With backtraces an escape comes before each sample,
 * and its callers follow it up to the next escape, innermost first; of a sample for which the
 * ring was full there may be callers alone.
 */
struct vmop_xenoprof_ring {
	struct vmop_xenoprof_buffer *shared;
	uint32_t n_entries, tail;
	uint16_t vcpu;
	bool has_backtraces;
	bool is_sample_next;	/* with backtraces: the last entry was an escape */
	uint64_t lost_reported; /* of shared->lost_samples, which outlives sessions */
};

/*
 * Lays the i-th ring over memory of len_bytes that holds n_buffers of buffer_bytes each.
 * False: it would not fit, or has no room for entries.
 */
bool vmop_xenoprof_ring_init(struct vmop_xenoprof_ring *ring, void *memory, size_t len_bytes,
			     uint32_t i, uint32_t n_buffers, uint32_t buffer_bytes,
			     bool has_backtraces);

/* What was there before is not this session's: to be called when Xen has just emptied the ring. */
void vmop_xenoprof_ring_begin(struct vmop_xenoprof_ring *ring);

/* An entry that says something: a sample, or a caller of the last one. */
typedef void vmop_xenoprof_take(void *arg, const struct vmop_xenoprof_ring *ring,
				const struct vmop_xenoprof_entry *entry, bool is_caller);

/*
 * Takes what is there, n_entries at the most.  Returns how many; *ret_is_corrupt: the
 * indices could not be, and nothing was taken.
 */
uint32_t vmop_xenoprof_ring_take(struct vmop_xenoprof_ring *ring, vmop_xenoprof_take *take,
				 void *arg, bool *ret_is_corrupt);

/* How many samples found no room since the last call. */
uint64_t vmop_xenoprof_ring_lost(struct vmop_xenoprof_ring *ring);

#endif
