// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/replay/stream-capture.h"

#include <string.h>

bool vmop_stream_capture_encode(const struct vmop_stack_capture *stack,
				struct vmop_stream_capture *ret)
{
	if (stack->n_kernel_frames > VMOP_STREAM_MAX_FRAMES ||
	    stack->n_user_frames > VMOP_STREAM_MAX_FRAMES ||
	    stack->user_stack_bytes > VMOP_USER_STACK_BYTES_MAX ||
	    stack->user_stack_asked_bytes > VMOP_USER_STACK_BYTES_MAX)
		return false;
	*ret = (struct vmop_stream_capture){
		.n_kernel_frames = (uint32_t)stack->n_kernel_frames,
		.n_user_frames = (uint32_t)stack->n_user_frames,
		.user_stack_bytes = stack->user_stack ? (uint32_t)stack->user_stack_bytes : 0,
		.user_stack_asked_bytes = (uint32_t)stack->user_stack_asked_bytes,
		.n_user_regs = stack->user_regs ? VMOP_USER_REGS : 0,
		.user_end = (uint8_t)stack->user_end,
		.flags = stack->is_compat ? VMOP_STREAM_CAPTURE_COMPAT : 0,
	};
	return true;
}

size_t vmop_stream_capture_part_bytes(const struct vmop_stream_capture *capture,
				      enum vmop_stream_capture_part part)
{
	switch (part) {
	case VMOP_STREAM_KERNEL_FRAMES:
		return capture->n_kernel_frames * sizeof(uint64_t);
	case VMOP_STREAM_USER_FRAMES:
		return capture->n_user_frames * sizeof(uint64_t);
	case VMOP_STREAM_USER_REGS:
		return capture->n_user_regs * sizeof(uint64_t);
	default:
		return capture->user_stack_bytes;
	}
}

static bool is_possible(const struct vmop_stream_capture *capture)
{
	return capture->n_kernel_frames <= VMOP_STREAM_MAX_FRAMES &&
	       capture->n_user_frames <= VMOP_STREAM_MAX_FRAMES &&
	       capture->user_stack_bytes <= VMOP_USER_STACK_BYTES_MAX &&
	       capture->user_stack_asked_bytes <= VMOP_USER_STACK_BYTES_MAX &&
	       (capture->n_user_regs == 0 || capture->n_user_regs == VMOP_USER_REGS) &&
	       capture->user_end < VMOP_N_STACK_ENDS &&
	       !(capture->flags & ~VMOP_STREAM_CAPTURE_COMPAT) && !capture->reserved;
}

bool vmop_stream_capture_decode(const void *data, size_t len_bytes, struct vmop_stack_capture *ret)
{
	struct vmop_stream_capture capture;
	const void *parts[VMOP_STREAM_CAPTURE_PARTS] = {0};
	size_t at = sizeof(capture);
	if (len_bytes < sizeof(capture))
		return false;
	memcpy(&capture, data, sizeof(capture));
	if (!is_possible(&capture))
		return false;
	/* The counts are bounded, so that no sum overflows. */
	for (enum vmop_stream_capture_part i = 0; i < VMOP_STREAM_CAPTURE_PARTS; i++) {
		size_t bytes = vmop_stream_capture_part_bytes(&capture, i);
		if (bytes)
			parts[i] = (const uint8_t *)data + at;
		at += (bytes + 7) & ~(size_t)7;
	}
	if (at != len_bytes)
		return false;
	*ret = (struct vmop_stack_capture){
		.kernel_frames = parts[VMOP_STREAM_KERNEL_FRAMES],
		.n_kernel_frames = capture.n_kernel_frames,
		.user_frames = parts[VMOP_STREAM_USER_FRAMES],
		.n_user_frames = capture.n_user_frames,
		.user_end = capture.user_end,
		.user_regs = parts[VMOP_STREAM_USER_REGS],
		.user_stack = parts[VMOP_STREAM_USER_STACK],
		.user_stack_bytes = capture.user_stack_bytes,
		.user_stack_asked_bytes = capture.user_stack_asked_bytes,
		.is_compat = capture.flags & VMOP_STREAM_CAPTURE_COMPAT,
	};
	return true;
}
