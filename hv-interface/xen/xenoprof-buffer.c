// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/xen/xenoprof-buffer.h"

#define HEADER_BYTES offsetof(struct vmop_xenoprof_buffer, entries)
#define VCPUS_MAX 4096 /* above Xen's limit for a domain */

bool vmop_xenoprof_ring_init(struct vmop_xenoprof_ring *ring, void *memory, size_t len_bytes,
			     uint32_t i, uint32_t n_buffers, uint32_t buffer_bytes)
{
	if (i >= n_buffers || n_buffers > VCPUS_MAX || buffer_bytes % sizeof(uint64_t) ||
	    buffer_bytes < HEADER_BYTES + 2 * sizeof(struct vmop_xenoprof_entry) ||
	    (uint64_t)n_buffers * buffer_bytes > len_bytes)
		return false;
	*ring = (struct vmop_xenoprof_ring){
		.shared = (void *)((char *)memory + (size_t)i * buffer_bytes),
		.n_entries = (uint32_t)((buffer_bytes - HEADER_BYTES) /
					sizeof(struct vmop_xenoprof_entry)),
	};
	uint32_t vcpu = __atomic_load_n(&ring->shared->vcpu, __ATOMIC_RELAXED);
	ring->vcpu = (uint16_t)(vcpu < VCPUS_MAX ? vcpu : i);
	return true;
}

void vmop_xenoprof_ring_begin(struct vmop_xenoprof_ring *ring)
{
	uint32_t tail = __atomic_load_n(&ring->shared->tail, __ATOMIC_RELAXED);
	ring->tail = tail < ring->n_entries ? tail : 0;
	ring->has_backtraces = ring->is_sample_next = false;
	ring->lost_reported = __atomic_load_n(&ring->shared->lost_samples, __ATOMIC_RELAXED);
}

/* Deliver an entry; the entries before it in its ring determine its meaning. */
static void take_one(struct vmop_xenoprof_ring *ring, const struct vmop_xenoprof_entry *entry,
		     vmop_xenoprof_take *take, void *arg)
{
	if (entry->ip == VMOP_XENOPROF_ESCAPE) {
		ring->is_sample_next = entry->event == VMOP_XENOPROF_ESCAPE_TRACE;
		ring->has_backtraces |= ring->is_sample_next;
		return;
	}
	take(arg, ring, entry, ring->has_backtraces && !ring->is_sample_next);
	ring->is_sample_next = false;
}

uint32_t vmop_xenoprof_ring_take(struct vmop_xenoprof_ring *ring, vmop_xenoprof_take *take,
				 void *arg, bool *ret_is_corrupt)
{
	/* Use the known size and tail, not the shared ones. */
	uint32_t head = __atomic_load_n(&ring->shared->head, __ATOMIC_ACQUIRE);
	*ret_is_corrupt = head >= ring->n_entries;
	if (*ret_is_corrupt)
		return 0;
	uint32_t n = 0;
	while (ring->tail != head) {
		const struct vmop_xenoprof_entry *shared = &ring->shared->entries[ring->tail];
		const struct vmop_xenoprof_entry entry = {
			.ip = __atomic_load_n(&shared->ip, __ATOMIC_RELAXED),
			.mode = __atomic_load_n(&shared->mode, __ATOMIC_RELAXED),
			.event = __atomic_load_n(&shared->event, __ATOMIC_RELAXED),
		};
		take_one(ring, &entry, take, arg);
		ring->tail = ring->tail + 1 < ring->n_entries ? ring->tail + 1 : 0;
		n++;
	}
	__atomic_store_n(&ring->shared->tail, ring->tail, __ATOMIC_RELEASE);
	return n;
}

uint64_t vmop_xenoprof_ring_lost(struct vmop_xenoprof_ring *ring)
{
	uint64_t lost = __atomic_load_n(&ring->shared->lost_samples, __ATOMIC_RELAXED);
	uint64_t reported = ring->lost_reported;
	ring->lost_reported = lost;
	return lost > reported ? lost - reported : 0;
}
