// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf/stacks/unwound.h"

#include <stdbool.h>
#include <string.h>

#include "hv-interface/bpf/layout.h"

/* The kernel's size and the program's record: aligned to 8 bytes, as the frames behind them are. */
struct raw {
	uint32_t len_bytes; /* of what follows it, with the padding at its end */
	struct vmop_bpf_stack stack;
};

_Static_assert(sizeof(struct raw) == 32, "no gap");

static bool is_good(const struct vmop_bpf_stack *stack, uint32_t len_bytes, size_t n_events)
{
	return stack->kind == VMOP_BPF_HOST_STACK && stack->event < n_events &&
	       stack->n_frames > 0 && stack->n_frames <= VMOP_BPF_MAX_FRAMES &&
	       sizeof(*stack) + stack->n_frames * sizeof(uint64_t) <= len_bytes &&
	       (stack->end == VMOP_STACK_COMPLETE || stack->end == VMOP_STACK_DEPTH_LIMIT) &&
	       stack->generation != 0;
}

size_t vmop_perf_unwound_decode(const struct perf_event_header *header, size_t at_bytes,
				size_t n_events, struct vmop_stack_capture *stack,
				struct vmop_perf_unwound *ret)
{
	const uint8_t *at = (const uint8_t *)header + at_bytes;
	struct raw raw;
	if (at_bytes > header->size || header->size - at_bytes < sizeof(raw))
		return 0;
	memcpy(&raw, at, sizeof(raw));
	size_t whole_bytes = sizeof(raw.len_bytes) + (size_t)raw.len_bytes;
	if (whole_bytes > header->size - at_bytes || whole_bytes % sizeof(uint64_t) ||
	    !is_good(&raw.stack, raw.len_bytes, n_events))
		return 0;
	stack->user_frames = (const void *)(at + sizeof(raw));
	stack->n_user_frames = raw.stack.n_frames;
	stack->user_end = raw.stack.end;
	stack->user_generation = raw.stack.generation;
	ret->event = raw.stack.event;
	ret->period_events = raw.stack.period_events;
	return at_bytes + whole_bytes;
}
