// SPDX-License-Identifier: GPL-2.0-or-later
/* The frames of the stream between a KVM host and the agent of an active guest. */
#include "hv-interface/active-frame.h"

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/active-message.h"
#include "hv-interface/active-samples.h"

#define STREAM_BYTES (3 * (VMOP_ACTIVE_HEADER_BYTES + VMOP_ACTIVE_BULK_BYTES))

static uint8_t payload[VMOP_ACTIVE_BULK_BYTES + 1];

/* A stream of bytes, as a sender writes it. */
struct stream {
	uint8_t bytes[STREAM_BYTES];
	size_t n;
	uint32_t sequence;
};

static void put(struct stream *stream, enum vmop_active_frame_type type, uint32_t len_bytes)
{
	const struct vmop_active_frame frame = {
		.type = type, .payload = payload, .len_bytes = len_bytes};
	size_t n = vmop_active_frame_encode(&frame, stream->sequence++, stream->bytes + stream->n,
					    sizeof(stream->bytes) - stream->n);
	assert_int_not_equal(n, 0);
	stream->n += n;
}

static struct stream *conversation(void)
{
	struct stream *stream = calloc(1, sizeof(*stream));
	assert_non_null(stream);
	put(stream, VMOP_ACTIVE_FRAME_PROOF, VMOP_ACTIVE_PROOF_BYTES);
	put(stream, VMOP_ACTIVE_FRAME_LINE, 1);
	put(stream, VMOP_ACTIVE_FRAME_LINE, VMOP_ACTIVE_MESSAGE_BYTES - 1);
	put(stream, VMOP_ACTIVE_FRAME_BULK, VMOP_ACTIVE_BULK_BYTES);
	put(stream, VMOP_ACTIVE_FRAME_CHALLENGE, VMOP_ACTIVE_NONCE_BYTES);
	put(stream, VMOP_ACTIVE_FRAME_SAMPLES, VMOP_ACTIVE_BATCH_BYTES);
	put(stream, VMOP_ACTIVE_FRAME_ASK, VMOP_ACTIVE_ASK_BYTES);
	put(stream, VMOP_ACTIVE_FRAME_CLOCK, VMOP_ACTIVE_CLOCK_BYTES);
	return stream;
}

/* Decode n bytes that arrive in pieces. Return the last outcome; *ret_n: the frames before it. */
static enum vmop_active_decoded decode(const uint8_t *bytes, size_t n, size_t piece, size_t *ret_n)
{
	struct vmop_active_decoder *decoder = calloc(1, sizeof(*decoder));
	enum vmop_active_decoded outcome = VMOP_ACTIVE_NEEDS_MORE;
	struct vmop_active_frame frame;
	assert_non_null(decoder);
	*ret_n = 0;
	for (size_t at = 0; at < n && outcome == VMOP_ACTIVE_NEEDS_MORE;) {
		uint8_t *into;
		size_t room = vmop_active_decoder_room(decoder, &into);
		size_t step = n - at < piece ? n - at : piece;
		step = step < room ? step : room;
		assert_int_not_equal(step, 0);
		memcpy(into, bytes + at, step);
		vmop_active_decoder_filled(decoder, step);
		at += step;
		while ((outcome = vmop_active_decoder_next(decoder, &frame)) ==
		       VMOP_ACTIVE_IS_FRAME)
			++*ret_n;
	}
	/* A failure stays. */
	if (outcome != VMOP_ACTIVE_NEEDS_MORE)
		assert_int_equal(vmop_active_decoder_next(decoder, &frame), outcome);
	free(decoder);
	return outcome;
}

static void frames_arrive_in_any_pieces(void **state)
{
	static const size_t pieces[] = {1, 3, 16, 17, 1000, STREAM_BYTES};
	struct stream *stream = conversation();
	size_t n;
	(void)state;
	for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
		assert_int_equal(decode(stream->bytes, stream->n, pieces[i], &n),
				 VMOP_ACTIVE_NEEDS_MORE);
		assert_int_equal(n, 8);
	}
	free(stream);
}

static void a_payload_is_what_was_sent(void **state)
{
	struct vmop_active_decoder decoder = {0};
	struct vmop_active_frame frame = {.type = VMOP_ACTIVE_FRAME_LINE,
					  .payload = (const uint8_t *)"hello",
					  .len_bytes = 5};
	uint8_t *into;
	(void)state;
	size_t room = vmop_active_decoder_room(&decoder, &into);
	vmop_active_decoder_filled(&decoder, vmop_active_frame_encode(&frame, 0, into, room));
	frame = (struct vmop_active_frame){0};
	assert_int_equal(vmop_active_decoder_next(&decoder, &frame), VMOP_ACTIVE_IS_FRAME);
	assert_int_equal(frame.type, VMOP_ACTIVE_FRAME_LINE);
	assert_int_equal(frame.len_bytes, 5);
	assert_memory_equal(frame.payload, "hello", 5);
}

/* A stream that ends anywhere is only not complete. */
static void a_cut_stream_waits_for_the_rest(void **state)
{
	struct stream *stream = conversation();
	size_t n, before = 0;
	(void)state;
	for (size_t len = 0; len < 1000; len++) {
		assert_int_equal(decode(stream->bytes, len, STREAM_BYTES, &n),
				 VMOP_ACTIVE_NEEDS_MORE);
		assert_true(n >= before && n <= 3);
		before = n;
	}
	assert_int_equal(before, 3);
	free(stream);
}

/* Without some bytes in its middle, the stream is rubbish from there on. */
static void a_stream_with_a_hole_is_rubbish(void **state)
{
	struct stream *stream = conversation();
	size_t first = VMOP_ACTIVE_HEADER_BYTES + VMOP_ACTIVE_PROOF_BYTES, n;
	(void)state;
	for (size_t hole = 1; hole < first; hole++) {
		assert_int_equal(decode(stream->bytes + hole, stream->n - hole, 7, &n),
				 VMOP_ACTIVE_IS_RUBBISH);
		assert_int_equal(n, 0);
	}
	free(stream);
}

static void a_repeated_frame_is_rubbish(void **state)
{
	struct stream *stream = calloc(1, sizeof(*stream));
	size_t n;
	(void)state;
	put(stream, VMOP_ACTIVE_FRAME_LINE, 9);
	stream->sequence = 0;
	put(stream, VMOP_ACTIVE_FRAME_LINE, 9);
	assert_int_equal(decode(stream->bytes, stream->n, 64, &n), VMOP_ACTIVE_IS_RUBBISH);
	assert_int_equal(n, 1);
	free(stream);
}

static void frames_in_another_order_are_rubbish(void **state)
{
	struct stream *stream = calloc(1, sizeof(*stream));
	size_t n;
	(void)state;
	stream->sequence = 1;
	put(stream, VMOP_ACTIVE_FRAME_LINE, 9);
	stream->sequence = 0;
	put(stream, VMOP_ACTIVE_FRAME_LINE, 9);
	assert_int_equal(decode(stream->bytes, stream->n, 64, &n), VMOP_ACTIVE_IS_RUBBISH);
	assert_int_equal(n, 0);
	free(stream);
}

/* Each byte of a header, with any other value. */
static void a_changed_header_is_refused(void **state)
{
	struct stream *stream = conversation();
	size_t n;
	(void)state;
	for (size_t at = 0; at < VMOP_ACTIVE_HEADER_BYTES; at++) {
		for (unsigned flip = 1; flip < 256; flip++) {
			uint8_t was = stream->bytes[at];
			stream->bytes[at] ^= (uint8_t)flip;
			bool is_version = at == 4 && stream->bytes[at];
			/* Each other type has another length than a proof, except for three. */
			bool may_be = at == 5 && (stream->bytes[at] == VMOP_ACTIVE_FRAME_LINE ||
						  stream->bytes[at] == VMOP_ACTIVE_FRAME_BULK ||
						  stream->bytes[at] == VMOP_ACTIVE_FRAME_SAMPLES);
			if (!may_be)
				assert_int_equal(decode(stream->bytes, stream->n, 32, &n),
						 is_version ? VMOP_ACTIVE_IS_OTHER_VERSION
							    : VMOP_ACTIVE_IS_RUBBISH);
			stream->bytes[at] = was;
		}
	}
	free(stream);
}

static void wrong_lengths_are_not_sent(void **state)
{
	static const struct {
		enum vmop_active_frame_type type;
		uint32_t len_bytes;
	} wrong[] = {
		{VMOP_ACTIVE_FRAME_CHALLENGE, VMOP_ACTIVE_NONCE_BYTES - 1},
		{VMOP_ACTIVE_FRAME_CHALLENGE, VMOP_ACTIVE_NONCE_BYTES + 1},
		{VMOP_ACTIVE_FRAME_PROOF, VMOP_ACTIVE_PROOF_BYTES - 1},
		{VMOP_ACTIVE_FRAME_PROOF, 0},
		{VMOP_ACTIVE_FRAME_LINE, 0},
		{VMOP_ACTIVE_FRAME_LINE, VMOP_ACTIVE_MESSAGE_BYTES},
		{VMOP_ACTIVE_FRAME_BULK, 0},
		{VMOP_ACTIVE_FRAME_BULK, VMOP_ACTIVE_BULK_BYTES + 1},
		{0, 16},
		{VMOP_ACTIVE_FRAME_SAMPLES, VMOP_ACTIVE_BATCH_LEAST_BYTES - 1},
		{VMOP_ACTIVE_FRAME_SAMPLES, VMOP_ACTIVE_BATCH_BYTES + 1},
		{VMOP_ACTIVE_FRAME_ASK, VMOP_ACTIVE_ASK_BYTES - 1},
		{VMOP_ACTIVE_FRAME_CLOCK, VMOP_ACTIVE_CLOCK_BYTES + 1},
		{VMOP_ACTIVE_FRAME_END, 1},
		{VMOP_ACTIVE_FRAME_END + 1, 0},
		{VMOP_ACTIVE_FRAME_END + 1, 16},
	};
	uint8_t buf[VMOP_ACTIVE_HEADER_BYTES + VMOP_ACTIVE_BULK_BYTES + 1];
	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const struct vmop_active_frame frame = {
			.type = wrong[i].type, .payload = payload, .len_bytes = wrong[i].len_bytes};
		assert_int_equal(vmop_active_frame_encode(&frame, 0, buf, sizeof(buf)), 0);
	}
	const struct vmop_active_frame frame = {
		.type = VMOP_ACTIVE_FRAME_LINE, .payload = payload, .len_bytes = 10};
	assert_int_equal(vmop_active_frame_encode(&frame, 0, buf, 25), 0);
	assert_int_equal(vmop_active_frame_encode(&frame, 0, buf, 26), 26);
}

static void a_proof_names_user_memory(void **state)
{
	static const struct {
		struct vmop_active_proof proof;
		bool is_good;
	} cases[] = {
		{{.address = 0x7f0000001000, .pid = 400}, true},
		{{.address = 0x7f0000001000, .pid = 0}, false},
		{{.address = 0, .pid = 1}, true},
		{{.address = UINT64_MAX, .pid = 1}, false},
		{{.address = UINT64_MAX - 31, .pid = 1}, false},
		{{.address = 0xffffffff81000000, .pid = 1}, false},
		{{.address = (UINT64_C(1) << 56) - 32, .pid = 1}, false},
	};
	uint8_t bytes[VMOP_ACTIVE_PROOF_BYTES];
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct vmop_active_proof again;
		vmop_active_proof_encode(&cases[i].proof, bytes);
		assert_int_equal(vmop_active_proof_decode(bytes, &again), cases[i].is_good);
		if (cases[i].is_good) {
			assert_int_equal(again.address, cases[i].proof.address);
			assert_int_equal(again.pid, cases[i].proof.pid);
		}
		bytes[12] = 1;
		assert_false(vmop_active_proof_decode(bytes, &again));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(frames_arrive_in_any_pieces),
		cmocka_unit_test(a_payload_is_what_was_sent),
		cmocka_unit_test(a_cut_stream_waits_for_the_rest),
		cmocka_unit_test(a_stream_with_a_hole_is_rubbish),
		cmocka_unit_test(a_repeated_frame_is_rubbish),
		cmocka_unit_test(frames_in_another_order_are_rubbish),
		cmocka_unit_test(a_changed_header_is_refused),
		cmocka_unit_test(wrong_lengths_are_not_sent),
		cmocka_unit_test(a_proof_names_user_memory),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
