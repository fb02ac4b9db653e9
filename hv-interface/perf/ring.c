// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { BOUNCE_BYTES = 1 << 16 };

struct vmop_error *vmop_perf_ring_init(struct vmop_perf_ring *ring,
				       struct perf_event_mmap_page *page, const uint8_t *data,
				       size_t len_bytes)
{
	*ring = (struct vmop_perf_ring){.page = page, .data = data, .len_bytes = len_bytes};
	ring->bounce = aligned_alloc(8, BOUNCE_BYTES);
	return ring->bounce ? NULL : &vmop_error_no_memory;
}

struct vmop_error *vmop_perf_ring_map(struct vmop_perf_ring *ring, int fd, size_t len_bytes)
{
	size_t page_bytes = (size_t)sysconf(_SC_PAGESIZE);
	size_t mapped = page_bytes + len_bytes;
	void *map = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return vmop_error_os(errno, "mapping a ring of %zu bytes for perf's records",
				     len_bytes);
	struct vmop_error *err =
		vmop_perf_ring_init(ring, map, (uint8_t *)map + page_bytes, len_bytes);
	if (err) {
		munmap(map, mapped);
		*ring = (struct vmop_perf_ring){0};
		return err;
	}
	ring->mapped_bytes = mapped;
	return NULL;
}

void vmop_perf_ring_deinit(struct vmop_perf_ring *ring)
{
	if (ring->mapped_bytes)
		munmap(ring->page, ring->mapped_bytes);
	free(ring->bounce);
	*ring = (struct vmop_perf_ring){0};
}

/* Skip everything up to the head after a record that cannot be followed. */
static void resynchronise(struct vmop_perf_ring *ring)
{
	ring->tail = ring->head;
	ring->malformed++;
}

void vmop_perf_ring_refresh(struct vmop_perf_ring *ring)
{
	/* Pairs with the kernel's barrier between data and data_head (perf_output_put_handle). */
	ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	if (ring->head - ring->tail > ring->len_bytes || ring->head % 8 != 0) {
		ring->head &= ~UINT64_C(7);
		resynchronise(ring);
	}
}

const struct perf_event_header *vmop_perf_ring_peek(struct vmop_perf_ring *ring)
{
	uint64_t available = ring->head - ring->tail;
	if (available == 0)
		return NULL;
	/* Records are multiples of 8 bytes, so that a header never wraps. */
	uint64_t at = ring->tail & (ring->len_bytes - 1);
	const struct perf_event_header *header = (const void *)(ring->data + at);
	uint16_t size = header->size;
	if (size < sizeof(*header) || size % 8 != 0 || size > available) {
		resynchronise(ring);
		return NULL;
	}
	if (at + size <= ring->len_bytes)
		return header;
	size_t first = (size_t)(ring->len_bytes - at);
	memcpy(ring->bounce, ring->data + at, first);
	memcpy(ring->bounce + first, ring->data, size - first);
	return (const void *)ring->bounce;
}

void vmop_perf_ring_free(struct vmop_perf_ring *ring)
{
	if (ring->freed == ring->tail)
		return;
	ring->freed = ring->tail;
	/* All reads come before the kernel may overwrite the data. */
	__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
}
