// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The reader of the rings that Xen shares, one a vCPU. If an untrusted domain can write to a ring
 * too, everything in it may change at any time, except the values that were copied when it was
 * mapped.
 */
#ifndef VMOP_HV_INTERFACE_XEN_XENOPROF_BUFFER_H
#define VMOP_HV_INTERFACE_XEN_XENOPROF_BUFFER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hv-interface/xen/xenoprof-abi.h"

/*
 * A vCPU's ring and the reader's position. With backtraces an escape comes before each sample, and
 * its callers follow, innermost first, up to the next escape; the first escape shows that there are
 * backtraces. If the ring fills up, the rest of a backtrace is missing and counted as a lost
 * sample.
 */
struct vmop_xenoprof_ring {
	struct vmop_xenoprof_buffer *shared;
	uint32_t n_entries, tail;
	uint16_t vcpu;
	bool has_backtraces;	/* an escape came; callers follow samples */
	bool is_sample_next;	/* with backtraces: the last entry was an escape */
	uint64_t lost_reported; /* of shared->lost_samples, which survives sessions */
};

/*
 * Initialise the i-th ring in memory of len_bytes that holds n_buffers of buffer_bytes each. Return
 * false if it does not fit, or has no room for entries.
 */
bool vmop_xenoprof_ring_init(struct vmop_xenoprof_ring *ring, void *memory, size_t len_bytes,
			     uint32_t i, uint32_t n_buffers, uint32_t buffer_bytes);

/* Ignore backtraces and losses from earlier sessions. Call it when Xen has just emptied the ring.
 */
void vmop_xenoprof_ring_begin(struct vmop_xenoprof_ring *ring);

/* The receiver of an entry that is a sample or a caller of the last sample. */
typedef void vmop_xenoprof_take(void *arg, const struct vmop_xenoprof_ring *ring,
				const struct vmop_xenoprof_entry *entry, bool is_caller);

/*
 * Take at most n_entries entries and return their number. *ret_is_corrupt: the indices were
 * impossible, and nothing was taken.
 */
uint32_t vmop_xenoprof_ring_take(struct vmop_xenoprof_ring *ring, vmop_xenoprof_take *take,
				 void *arg, bool *ret_is_corrupt);

/* Return the number of samples that found no room since the last call. */
uint64_t vmop_xenoprof_ring_lost(struct vmop_xenoprof_ring *ring);

#endif
