// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/active-frame.h"

#include <endian.h>
#include <string.h>

#include "hv-interface/active-message.h"
#include "hv-interface/active-samples.h"

#define MAGIC UINT32_C(0x706f6d76) /* "vmop" */

/* User memory ends below this address on x86-64 and arm64, also with 5-level page tables. */
#define USER_END (UINT64_C(1) << 56)

struct header {
	uint32_t magic;
	uint8_t version, type;
	uint16_t zero;
	uint32_t len_bytes, sequence;
};
_Static_assert(sizeof(struct header) == VMOP_ACTIVE_HEADER_BYTES, "the header has no gaps");
_Static_assert(offsetof(struct header, version) == 4, "the same in all versions");

struct proof {
	uint64_t address;
	uint32_t pid, zero;
};
_Static_assert(sizeof(struct proof) == VMOP_ACTIVE_PROOF_BYTES, "the proof has no gaps");

_Static_assert(VMOP_ACTIVE_BATCH_BYTES <= VMOP_ACTIVE_BULK_BYTES, "a decoder has room for a batch");

/* Return whether a frame of that type can have a payload of that length. */
static bool is_length_of(unsigned type, uint32_t len_bytes)
{
	switch (type) {
	case VMOP_ACTIVE_FRAME_CHALLENGE:
		return len_bytes == VMOP_ACTIVE_NONCE_BYTES;
	case VMOP_ACTIVE_FRAME_PROOF:
		return len_bytes == VMOP_ACTIVE_PROOF_BYTES;
	case VMOP_ACTIVE_FRAME_LINE:
		return len_bytes > 0 && len_bytes < VMOP_ACTIVE_MESSAGE_BYTES;
	case VMOP_ACTIVE_FRAME_BULK:
		return len_bytes > 0 && len_bytes <= VMOP_ACTIVE_BULK_BYTES;
	case VMOP_ACTIVE_FRAME_SAMPLES:
		return len_bytes >= VMOP_ACTIVE_BATCH_LEAST_BYTES &&
		       len_bytes <= VMOP_ACTIVE_BATCH_BYTES;
	case VMOP_ACTIVE_FRAME_ASK:
		return len_bytes == VMOP_ACTIVE_ASK_BYTES;
	case VMOP_ACTIVE_FRAME_CLOCK:
		return len_bytes == VMOP_ACTIVE_CLOCK_BYTES;
	case VMOP_ACTIVE_FRAME_END:
		return len_bytes == 0;
	default:
		return false;
	}
}

size_t vmop_active_decoder_room(struct vmop_active_decoder *decoder, uint8_t **ret)
{
	decoder->n_bytes -= decoder->n_taken;
	memmove(decoder->bytes, decoder->bytes + decoder->n_taken, decoder->n_bytes);
	decoder->n_taken = 0;
	*ret = decoder->bytes + decoder->n_bytes;
	return sizeof(decoder->bytes) - decoder->n_bytes;
}

void vmop_active_decoder_filled(struct vmop_active_decoder *decoder, size_t n_bytes)
{
	decoder->n_bytes += n_bytes;
}

static enum vmop_active_decoded check(const struct vmop_active_decoder *decoder,
				      const struct header *header)
{
	if (le32toh(header->magic) != MAGIC || !header->version)
		return VMOP_ACTIVE_IS_RUBBISH;
	if (header->version != VMOP_ACTIVE_FRAME_VERSION)
		return VMOP_ACTIVE_IS_OTHER_VERSION;
	if (header->zero || le32toh(header->sequence) != decoder->sequence ||
	    !is_length_of(header->type, le32toh(header->len_bytes)))
		return VMOP_ACTIVE_IS_RUBBISH;
	return VMOP_ACTIVE_IS_FRAME;
}

enum vmop_active_decoded vmop_active_decoder_next(struct vmop_active_decoder *decoder,
						  struct vmop_active_frame *ret)
{
	const uint8_t *bytes = decoder->bytes + decoder->n_taken;
	size_t n_bytes = decoder->n_bytes - decoder->n_taken;
	struct header header;
	if (decoder->failure)
		return decoder->failure;
	if (n_bytes < sizeof(header))
		return VMOP_ACTIVE_NEEDS_MORE;
	memcpy(&header, bytes, sizeof(header));
	enum vmop_active_decoded outcome = check(decoder, &header);
	if (outcome != VMOP_ACTIVE_IS_FRAME) {
		decoder->failure = outcome;
		return outcome;
	}
	uint32_t len_bytes = le32toh(header.len_bytes);
	if (n_bytes - sizeof(header) < len_bytes)
		return VMOP_ACTIVE_NEEDS_MORE;
	decoder->n_taken += sizeof(header) + len_bytes;
	decoder->sequence++;
	*ret = (struct vmop_active_frame){
		.type = header.type, .payload = bytes + sizeof(header), .len_bytes = len_bytes};
	return VMOP_ACTIVE_IS_FRAME;
}

size_t vmop_active_frame_encode(const struct vmop_active_frame *frame, uint32_t sequence,
				uint8_t *buf, size_t size_bytes)
{
	const struct header header = {
		.magic = htole32(MAGIC),
		.version = VMOP_ACTIVE_FRAME_VERSION,
		.type = (uint8_t)frame->type,
		.len_bytes = htole32(frame->len_bytes),
		.sequence = htole32(sequence),
	};
	if (!is_length_of(frame->type, frame->len_bytes) ||
	    size_bytes < sizeof(header) + frame->len_bytes)
		return 0;
	memcpy(buf, &header, sizeof(header));
	memcpy(buf + sizeof(header), frame->payload, frame->len_bytes);
	return sizeof(header) + frame->len_bytes;
}

void vmop_active_proof_encode(const struct vmop_active_proof *proof,
			      uint8_t ret[VMOP_ACTIVE_PROOF_BYTES])
{
	const struct proof wire = {.address = htole64(proof->address), .pid = htole32(proof->pid)};
	memcpy(ret, &wire, sizeof(wire));
}

bool vmop_active_proof_decode(const uint8_t payload[VMOP_ACTIVE_PROOF_BYTES],
			      struct vmop_active_proof *ret)
{
	struct proof wire;
	memcpy(&wire, payload, sizeof(wire));
	*ret = (struct vmop_active_proof){.address = le64toh(wire.address),
					  .pid = le32toh(wire.pid)};
	return !wire.zero && ret->pid && ret->address < USER_END - VMOP_ACTIVE_NONCE_BYTES;
}
