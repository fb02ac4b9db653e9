// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Any bytes as a ring that Xen shares and another domain can write:
 * hv-interface/xen/xenoprof-buffer.h, and xen/trace.h, which makes stacks of its entries. The
 * input's first byte is the layout; the rest is the content of the whole buffer, one after the
 * other for each read.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/xen/trace.h"
#include "hv-interface/xen/xenoprof-buffer.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

enum { DEPTH = 5 };

struct look {
	uint32_t n;
	struct vmop_xen_trace trace;
};

/* Read every frame. All must be of the sample's half of the addresses. */
static void check_frames(const uint64_t *frames, size_t n, uint64_t half)
{
	if (n > VMOP_STACK_FRAMES_MAX + 1)
		abort();
	for (size_t i = 1; i < n; i++)
		if (frames[i] >> 56 != half)
			abort();
}

static void end_trace(struct vmop_xen_trace *trace)
{
	struct vmop_stack_capture stack;
	if (!trace->is_open)
		return;
	if (vmop_xen_trace_end(trace, DEPTH, true, &stack)) {
		check_frames(stack.kernel_frames, stack.n_kernel_frames, 0xff);
		check_frames(stack.user_frames, stack.n_user_frames, 0);
		if (!stack.n_kernel_frames == !stack.n_user_frames)
			abort();
	} else if (trace->mode != VMOP_XENOPROF_MODE_XEN) {
		abort();
	}
}

static void look_at(void *arg, const struct vmop_xenoprof_ring *ring,
		    const struct vmop_xenoprof_entry *entry, bool is_caller)
{
	struct look *look = arg;
	const struct vmop_record record = {.type = VMOP_RECORD_SAMPLE};
	const struct vmop_xen_entry found = {.ip = entry->ip,
					     .vcpu = ring->vcpu,
					     .mode = entry->mode,
					     .event = entry->event,
					     .is_caller = is_caller};
	if (entry->ip == VMOP_XENOPROF_ESCAPE || (is_caller && !ring->has_backtraces))
		abort();
	look->n++;
	if (is_caller) {
		vmop_xen_trace_add(&look->trace, &found);
		return;
	}
	end_trace(&look->trace);
	/* The source drops others. */
	if (entry->mode <= VMOP_XENOPROF_MODE_XEN)
		vmop_xen_trace_begin(&look->trace, &record, &found);
}

/* A write of another domain during a read is equivalent to one between two reads. */
static void look(struct vmop_xenoprof_ring *ring)
{
	bool is_corrupt;
	static struct look looked;
	looked = (struct look){0};
	uint32_t n = vmop_xenoprof_ring_take(ring, look_at, &looked, &is_corrupt);
	end_trace(&looked.trace);
	if (n >= ring->n_entries || looked.n > n || ring->tail >= ring->n_entries)
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
