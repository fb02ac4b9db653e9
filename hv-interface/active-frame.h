// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Frames: how the messages between a KVM host and the agent of an active guest lie in a stream of
 * bytes. Xen's agents need none, because xenstore keeps lines.
 *
 * A frame is a header of 16 bytes, little endian, and its payload:
 *
 * 	0	u32	magic, "vmop"
 * 	4	u8	version of the frames
 * 	5	u8	type
 * 	6	u16	0
 * 	8	u32	length of the payload in bytes
 * 	12	u32	sequence: 0 for the first frame of its sender, then one more for each
 *
 * The first five bytes keep their meaning in all versions. The payloads by type:
 *
 * 	challenge	initiator	32 random bytes, which prove where an agent runs
 * 	proof		agent		u64 address of a copy of these bytes in the agent's memory;
 * 					u32 its pid; u32 0
 * 	line		both		a line of active-message.h, without a NUL
 * 	bulk		both		bytes of a file (active-file.h), or of the connection that
 * 					such a transfer has within this one (daemon/active/tunnel.h)
 * 	samples		initiator	a batch of samples (active-samples.h, also the next two)
 * 	ask		agent		a question for the host's time
 * 	clock		initiator	its answer
 * 	end		both		none: that connection within this one ends
 *
 * The other side is hostile: a decoder accepts only the next sequence, known types and the lengths
 * of their payloads. After one error it accepts no more.
 */
#ifndef VMOP_HV_INTERFACE_ACTIVE_FRAME_H
#define VMOP_HV_INTERFACE_ACTIVE_FRAME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VMOP_ACTIVE_FRAME_VERSION 1
#define VMOP_ACTIVE_HEADER_BYTES 16
#define VMOP_ACTIVE_NONCE_BYTES 32
#define VMOP_ACTIVE_PROOF_BYTES 16
#define VMOP_ACTIVE_BULK_BYTES 16384 /* at most in one frame */

enum vmop_active_frame_type {
	VMOP_ACTIVE_FRAME_CHALLENGE = 1,
	VMOP_ACTIVE_FRAME_PROOF = 2,
	VMOP_ACTIVE_FRAME_LINE = 3,
	VMOP_ACTIVE_FRAME_BULK = 4,
	VMOP_ACTIVE_FRAME_SAMPLES = 5,
	VMOP_ACTIVE_FRAME_ASK = 6,
	VMOP_ACTIVE_FRAME_CLOCK = 7,
	VMOP_ACTIVE_FRAME_END = 8,
};

struct vmop_active_frame {
	enum vmop_active_frame_type type;
	const uint8_t *payload; /* valid until the decoder is filled again */
	uint32_t len_bytes;	/* as the type permits */
};

enum vmop_active_decoded {
	VMOP_ACTIVE_NEEDS_MORE, /* no whole frame is there */
	VMOP_ACTIVE_IS_FRAME,
	VMOP_ACTIVE_IS_OTHER_VERSION, /* from another version of vmop */
	VMOP_ACTIVE_IS_RUBBISH,
};

/* Zeroed: empty, before the first frame. */
struct vmop_active_decoder {
	uint8_t bytes[VMOP_ACTIVE_HEADER_BYTES + VMOP_ACTIVE_BULK_BYTES];
	size_t n_bytes, n_taken; /* bytes that are there; of these, those of returned frames */
	uint32_t sequence;	 /* of the next frame */
	enum vmop_active_decoded failure; /* 0: none yet */
};

/*
 * Return the room for further bytes, which is at least one as long as next() has returned
 * NEEDS_MORE, and set *ret to where they belong. Frames that were returned are no longer valid.
 */
size_t vmop_active_decoder_room(struct vmop_active_decoder *decoder, uint8_t **ret);
/* Note that n_bytes were put there. */
void vmop_active_decoder_filled(struct vmop_active_decoder *decoder, size_t n_bytes);

/* Take the next frame. Set *ret only for IS_FRAME. */
enum vmop_active_decoded vmop_active_decoder_next(struct vmop_active_decoder *decoder,
						  struct vmop_active_frame *ret);

/*
 * Write the frame's header and payload to buf, and return their length; 0: the payload's length is
 * not one of the type, or buf has no room.
 */
size_t vmop_active_frame_encode(const struct vmop_active_frame *frame, uint32_t sequence,
				uint8_t *buf, size_t size_bytes);

struct vmop_active_proof {
	uint64_t address;
	uint32_t pid;
};

void vmop_active_proof_encode(const struct vmop_active_proof *proof,
			      uint8_t ret[VMOP_ACTIVE_PROOF_BYTES]);
/* Return false if it can be no agent's: pid 0, or 32 bytes that are not in a user's memory. */
bool vmop_active_proof_decode(const uint8_t payload[VMOP_ACTIVE_PROOF_BYTES],
			      struct vmop_active_proof *ret);

#endif
