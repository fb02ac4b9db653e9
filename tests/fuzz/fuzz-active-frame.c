// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The stream of frames from an agent of an active guest, or from an initiator. The first byte of
 * the input is the length of the pieces in which the rest arrives. Each frame that the decoder
 * accepts must encode to the bytes that it came from. It is also taken as a part of a session that
 * is fetched from the guest, and as a host's request for one.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/active-file.h"
#include "hv-interface/active-frame.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static void check(bool holds)
{
	if (!holds)
		abort();
}

/* Check a frame against the stream from which it came. Return its length with the header. */
static size_t check_frame(const struct vmop_active_frame *frame, uint32_t sequence,
			  const uint8_t *stream)
{
	static uint8_t again[VMOP_ACTIVE_HEADER_BYTES + VMOP_ACTIVE_BULK_BYTES];
	size_t len = vmop_active_frame_encode(frame, sequence, again, sizeof(again));
	check(len == VMOP_ACTIVE_HEADER_BYTES + frame->len_bytes);
	check(!memcmp(again, stream, len));
	if (frame->type == VMOP_ACTIVE_FRAME_PROOF) {
		struct vmop_active_proof proof;
		uint8_t bytes[VMOP_ACTIVE_PROOF_BYTES];
		if (vmop_active_proof_decode(frame->payload, &proof)) {
			vmop_active_proof_encode(&proof, bytes);
			check(!memcmp(bytes, frame->payload, sizeof(bytes)));
		}
	}
	return len;
}

#define FILE_MAX_BYTES 30000

/* Take a frame as the next part of a file, of which n_bytes have come. */
static void check_file(struct vmop_active_file *file, const struct vmop_active_frame *frame,
		       uint64_t *n_bytes)
{
	bool is_over = file->stage == VMOP_ACTIVE_FILE_OVER;
	bool comes = file->stage == VMOP_ACTIVE_FILE_COMES;
	enum vmop_active_file_outcome outcome = vmop_active_file_take(file, frame);
	check(!is_over || outcome == VMOP_ACTIVE_FILE_WRONG);
	if (outcome == VMOP_ACTIVE_FILE_BEGINS)
		check(!comes && file->size_bytes && file->size_bytes <= FILE_MAX_BYTES);
	if (outcome == VMOP_ACTIVE_FILE_BYTES) {
		check(comes && frame->type == VMOP_ACTIVE_FRAME_BULK);
		*n_bytes += frame->len_bytes;
		check(*n_bytes <= file->size_bytes);
	}
	if (outcome == VMOP_ACTIVE_FILE_WHOLE)
		check(comes && *n_bytes == file->size_bytes);
	check(memchr(file->reason, '\0', sizeof(file->reason)) != NULL);
	for (const char *c = file->reason; *c; c++)
		check(*c >= ' ' && *c <= '~');
}

/* A request that is understood is the one that its own line asks for. */
static void check_request(const struct vmop_active_frame *frame)
{
	struct vmop_active_file_request request, again;
	char line[VMOP_ACTIVE_FILE_LINE_BYTES];
	if (!vmop_active_file_asked(frame, &request))
		return;
	const struct vmop_active_frame asked = {
		.type = VMOP_ACTIVE_FRAME_LINE,
		.payload = (const uint8_t *)line,
		.len_bytes = (uint32_t)vmop_active_file_ask(&request, line)};
	check(vmop_active_file_asked(&asked, &again));
	check(again.token == request.token && again.max_bytes == request.max_bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	static struct vmop_active_decoder decoder;
	struct vmop_active_file file;
	uint64_t n_bytes = 0;
	decoder = (struct vmop_active_decoder){0};
	if (!len_bytes)
		return 0;
	check(!vmop_active_file_init(&file, FILE_MAX_BYTES));
	size_t piece = (size_t)data[0] + 1, at = 0, accepted = 0;
	uint32_t sequence = 0;
	data++;
	len_bytes--;
	enum vmop_active_decoded outcome = VMOP_ACTIVE_NEEDS_MORE;
	while (at < len_bytes && outcome == VMOP_ACTIVE_NEEDS_MORE) {
		struct vmop_active_frame frame;
		uint8_t *into;
		size_t room = vmop_active_decoder_room(&decoder, &into);
		size_t n = len_bytes - at < piece ? len_bytes - at : piece;
		check(room > 0);
		n = n < room ? n : room;
		memcpy(into, data + at, n);
		vmop_active_decoder_filled(&decoder, n);
		at += n;
		while ((outcome = vmop_active_decoder_next(&decoder, &frame)) ==
		       VMOP_ACTIVE_IS_FRAME) {
			accepted += check_frame(&frame, sequence++, data + accepted);
			check_file(&file, &frame, &n_bytes);
			check_request(&frame);
		}
	}
	check(accepted <= len_bytes);
	vmop_active_file_deinit(&file);
	return 0;
}
