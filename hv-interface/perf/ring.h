// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One CPU's ring of records, shared with the kernel: struct perf_event_mmap_page of
 * linux/perf_event.h, a page before the data. Records are read in place. A record that wraps around
 * the end is copied into a bounce buffer.
 *
 * The content of the ring is not trusted: an impossible size skips the rest up to the head and is
 * counted.
 */
#ifndef VMOP_HV_INTERFACE_PERF_RING_H
#define VMOP_HV_INTERFACE_PERF_RING_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"

struct vmop_perf_ring {
	struct perf_event_mmap_page *page;
	const uint8_t *data;
	uint64_t len_bytes;  /* of the data: a power of two */
	uint64_t head, tail; /* bytes written and read since the ring's creation */
	uint64_t freed;	     /* tail as the kernel sees it */
	uint8_t *bounce;     /* 64 KiB: a record's size has 16 bits */
	uint64_t malformed;  /* times that the ring was skipped to its head */
	size_t mapped_bytes; /* 0: the memory belongs to the caller */
};

/* Map fd's ring. len_bytes is a power of two of at least a page. VMOP_ERROR_CANT: no permission. */
struct vmop_error *vmop_perf_ring_map(struct vmop_perf_ring *ring, int fd, size_t len_bytes);
/* Initialise a ring over given memory, which the caller frees after deinit. */
struct vmop_error *vmop_perf_ring_init(struct vmop_perf_ring *ring,
				       struct perf_event_mmap_page *page, const uint8_t *data,
				       size_t len_bytes);
void vmop_perf_ring_deinit(struct vmop_perf_ring *ring);

/* Read how far the kernel has written. Later records wait for the next refresh. */
void vmop_perf_ring_refresh(struct vmop_perf_ring *ring);
/* Return the bytes between tail and head as of the last refresh. */
static inline uint64_t vmop_perf_ring_used_bytes(const struct vmop_perf_ring *ring)
{
	return ring->head - ring->tail;
}

/*
 * Return the record at the tail, whole and contiguous, with a plausible size; NULL: no record.
 * Valid until the next call.
 */
const struct perf_event_header *vmop_perf_ring_peek(struct vmop_perf_ring *ring);
/* Skip the record that peek returned, of that many bytes. */
static inline void vmop_perf_ring_skip(struct vmop_perf_ring *ring, uint16_t size_bytes)
{
	ring->tail += size_bytes;
}
/* Return everything before the tail to the kernel. */
void vmop_perf_ring_free(struct vmop_perf_ring *ring);

#endif
