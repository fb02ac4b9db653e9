// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A frame of a guest's call stack in one word: the kernel's addresses have bit 63, and a frame
 * whose bit 62 differs from bit 63 is an instruction that was interrupted, not a return address.
 */
#ifndef VMOP_GUEST_FRAME_H
#define VMOP_GUEST_FRAME_H

#include <stdbool.h>
#include <stdint.h>

static inline uint64_t vmop_guest_frame_pack(uint64_t address, bool is_interrupted)
{
	return is_interrupted ? address ^ UINT64_C(1) << 62 : address;
}

static inline bool vmop_guest_frame_is_kernel(uint64_t frame)
{
	return frame >> 63;
}

static inline bool vmop_guest_frame_is_interrupted(uint64_t frame)
{
	return (frame >> 62 & 1) != frame >> 63;
}

static inline uint64_t vmop_guest_frame_address(uint64_t frame)
{
	return vmop_guest_frame_is_interrupted(frame) ? frame ^ UINT64_C(1) << 62 : frame;
}

#endif
