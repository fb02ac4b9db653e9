// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a ring that Xen shares and another domain can write:
 * hv-interface/xen/xenoprof-buffer.h. The input's first byte is the layout; the rest is the content
 * of the whole buffer, one after the other for each read.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/xen/xenoprof-buffer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static void look_at(void *arg, const struct vmop_xenoprof_ring *ring,
		    const struct vmop_xenoprof_entry *entry, bool is_caller)
{
	uint32_t *n = arg;
	if (entry->ip == VMOP_XENOPROF_ESCAPE || (is_caller && !ring->has_backtraces))
		abort();
	(*n)++;
}

/* A write of another domain during a read is equivalent to one between two reads. */
static void look(struct vmop_xenoprof_ring *ring)
{
	bool is_corrupt;
	uint32_t handed = 0;
	uint32_t n = vmop_xenoprof_ring_take(ring, look_at, &handed, &is_corrupt);
	if (n >= ring->n_entries || handed > n || ring->tail >= ring->n_entries)
		abort();
	if (is_corrupt != (ring->shared->head >= ring->n_entries) || (is_corrupt && n > 0))
		abort();
	vmop_xenoprof_ring_lost(ring);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	if (len_bytes < 1)
		return 0;
	uint32_t buffer_bytes = 40 + 8 * (data[0] % 32u);
	/* The block has the exact size, so that a sanitizer detects accesses outside. */
	uint8_t *memory = aligned_alloc(8, 2 * buffer_bytes);
	if (!memory)
		abort();
	memset(memory, 0, 2 * buffer_bytes);
	struct vmop_xenoprof_ring ring;
	bool is_good = vmop_xenoprof_ring_init(&ring, memory, 2 * buffer_bytes, 1, 2, buffer_bytes);
	if (is_good != (buffer_bytes >= 80) || (is_good && ring.vcpu > 4095))
		abort();
	if (is_good)
		vmop_xenoprof_ring_begin(&ring);
	for (size_t at = 1; is_good && at < len_bytes; at += buffer_bytes) {
		size_t n = len_bytes - at < buffer_bytes ? len_bytes - at : buffer_bytes;
		memcpy(memory + buffer_bytes, data + at, n);
		look(&ring);
	}
	free(memory);
	return 0;
}
