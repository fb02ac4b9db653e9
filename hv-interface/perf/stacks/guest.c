// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf/stacks/guest.h"

#include <string.h>

#include "hv-interface/bpf/layout.h"

/* The kernel's size and the program's record: aligned to 8 bytes, as the windows behind them are.
 */
struct raw {
	uint32_t len_bytes; /* of what follows it, with the padding at its end */
	struct vmop_bpf_guest guest;
};

_Static_assert(offsetof(struct raw, guest.context) % 8 == 0, "read in place");
_Static_assert(sizeof(struct raw) % 8 == 0, "the windows are aligned");

static const struct vmop_guest_context *context_of(const struct vmop_bpf_guest *guest)
{
	return (const void *)((const uint8_t *)guest + offsetof(struct vmop_bpf_guest, context));
}

/* Return the most bytes of a window. */
static uint32_t window_max(const struct vmop_guest_context *context, size_t window)
{
	switch (window) {
	case VMOP_GUEST_KERNEL_WINDOW:
		return context->parts & VMOP_GUEST_HAS_SP ? VMOP_GUEST_KERNEL_WINDOW_MAX
							  : VMOP_GUEST_UNKNOWN_SP_WINDOW_MAX;
	case VMOP_GUEST_TASK_WINDOW:
		return VMOP_GUEST_KERNEL_WINDOW_MAX;
	default:
		return VMOP_GUEST_USER_WINDOW_MAX;
	}
}

static bool has_good_windows(const struct vmop_guest_context *context)
{
	for (size_t i = 0; i < VMOP_GUEST_N_WINDOWS; i++) {
		uint32_t bytes = context->window_bytes[i];
		if (bytes > window_max(context, i) || bytes % sizeof(uint64_t))
			return false;
	}
	return true;
}

static bool is_good_context(const struct vmop_guest_context *context)
{
	return (context->parts & ~(uint32_t)VMOP_GUEST_ALL_PARTS) == 0 &&
	       context->gap < VMOP_GUEST_N_GAPS && context->code_bytes <= sizeof(context->code) &&
	       has_good_windows(context);
}

static bool is_good(const struct vmop_bpf_guest *guest, uint32_t raw_bytes, size_t n_events)
{
	const struct vmop_guest_context *context = context_of(guest);
	bool is_state = context->parts & VMOP_GUEST_IS_EXITED;
	return guest->kind == (is_state ? VMOP_BPF_GUEST_STATE : VMOP_BPF_GUEST) &&
	       guest->event < n_events && is_good_context(context) &&
	       guest->len_bytes == vmop_guest_context_bytes(context) &&
	       guest->len_bytes <= raw_bytes - offsetof(struct vmop_bpf_guest, context);
}

uint32_t vmop_perf_guest_kind(const struct perf_event_header *header, size_t at_bytes)
{
	uint32_t words[2]; /* the kernel's size, the kind */
	if (at_bytes > header->size || header->size - at_bytes < sizeof(words))
		return 0;
	memcpy(words, (const uint8_t *)header + at_bytes, sizeof(words));
	return words[1];
}

size_t vmop_perf_guest_decode(const struct perf_event_header *header, size_t at_bytes,
			      size_t n_events, struct vmop_perf_guest *ret)
{
	const struct raw *raw = (const void *)((const uint8_t *)header + at_bytes);
	if (at_bytes > header->size || header->size - at_bytes < sizeof(*raw))
		return 0;
	size_t whole_bytes = sizeof(raw->len_bytes) + (size_t)raw->len_bytes;
	if (whole_bytes < sizeof(*raw) || whole_bytes > header->size - at_bytes ||
	    whole_bytes % sizeof(uint64_t) || !is_good(&raw->guest, raw->len_bytes, n_events))
		return 0;
	*ret = (struct vmop_perf_guest){
		.is_state = raw->guest.kind == VMOP_BPF_GUEST_STATE,
		.event = raw->guest.event,
		.period_events = raw->guest.period_events,
		.context = context_of(&raw->guest),
	};
	return at_bytes + whole_bytes;
}
