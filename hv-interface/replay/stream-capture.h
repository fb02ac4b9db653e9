// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The call stacks in a stream (stream.h): struct vmop_stack_capture as bytes. The reader and the
 * writer of streams call these functions.
 */
#ifndef VMOP_HV_INTERFACE_REPLAY_STREAM_CAPTURE_H
#define VMOP_HV_INTERFACE_REPLAY_STREAM_CAPTURE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hv-interface/replay/stream.h"
#include "vmop/stack.h"

/* The parts after a vmop_stream_capture, in this order. */
enum vmop_stream_capture_part {
	VMOP_STREAM_KERNEL_FRAMES,
	VMOP_STREAM_USER_FRAMES,
	VMOP_STREAM_USER_REGS,
	VMOP_STREAM_USER_STACK,
	VMOP_STREAM_CAPTURE_PARTS
};

/* The largest capture: all of these parts, and what they follow. */
#define VMOP_STREAM_CAPTURE_MAX_BYTES                                                              \
	(sizeof(struct vmop_stream_capture) +                                                      \
	 (2 * VMOP_STREAM_MAX_FRAMES + VMOP_USER_REGS) * sizeof(uint64_t) +                        \
	 VMOP_USER_STACK_BYTES_MAX)

/* Set *ret to the counts of stack. False: it is larger than a stream can hold. */
bool vmop_stream_capture_encode(const struct vmop_stack_capture *stack,
				struct vmop_stream_capture *ret);

/* Return the bytes of a part without padding. */
size_t vmop_stream_capture_part_bytes(const struct vmop_stream_capture *capture,
				      enum vmop_stream_capture_part part);

/*
 * Decode a capture of len_bytes, aligned to 8 bytes. *ret points into data. False: data is not
 * exactly one capture that a writer wrote.
 */
bool vmop_stream_capture_decode(const void *data, size_t len_bytes, struct vmop_stack_capture *ret);

#endif
