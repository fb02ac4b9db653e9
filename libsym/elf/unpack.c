// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/elf/unpack.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "config.h"
#ifdef HAVE_LZMA
#include <lzma.h>
#endif
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

/* The limit of a decoder's memory: "xz -9" needs 65 MiB, and so does a window of 64 MiB. */
#define DECODER_MAX_BYTES ((uint64_t)80 << 20)
#define ZSTD_WINDOW_LOG_MAX 26

/* Bytes unpacked or read between two checks of the budget. */
#define PIECE_BYTES ((size_t)1 << 20)

/* The effect of one call of a decoder. */
enum step { STEP_MORE, STEP_END, STEP_DAMAGED, STEP_NO_MEMORY };

/* The buffers of one call, which advances both. */
struct piece {
	const uint8_t *in;
	size_t in_bytes;
	uint8_t *out;
	size_t out_bytes;
	bool is_last; /* no input follows */
};

struct format {
	const char *magic;
	size_t magic_bytes;
	void *(*create)(void); /* NULL: out of memory */
	enum step (*step)(void *decoder, struct piece *piece);
	void (*destroy)(void *decoder);
};

#ifdef HAVE_LZMA
static void destroy_xz(void *decoder)
{
	lzma_end(decoder);
	free(decoder);
}

static void *create_xz(void)
{
	lzma_stream *stream = malloc(sizeof(*stream));
	if (!stream)
		return NULL;
	*stream = (lzma_stream)LZMA_STREAM_INIT;
	if (lzma_stream_decoder(stream, DECODER_MAX_BYTES, LZMA_CONCATENATED) == LZMA_OK)
		return stream;
	destroy_xz(stream);
	return NULL;
}

static enum step step_xz(void *decoder, struct piece *piece)
{
	lzma_stream *stream = decoder;
	stream->next_in = piece->in;
	stream->avail_in = piece->in_bytes;
	stream->next_out = piece->out;
	stream->avail_out = piece->out_bytes;
	lzma_ret status = lzma_code(stream, piece->is_last ? LZMA_FINISH : LZMA_RUN);
	piece->in_bytes = stream->avail_in;
	piece->out_bytes = stream->avail_out;
	return status == LZMA_OK	   ? STEP_MORE
	       : status == LZMA_STREAM_END ? STEP_END
	       : status == LZMA_MEM_ERROR  ? STEP_NO_MEMORY
					   : STEP_DAMAGED;
}
#endif

static void destroy_zstd(void *decoder)
{
	ZSTD_freeDCtx(decoder);
}

static void *create_zstd(void)
{
	ZSTD_DCtx *context = ZSTD_createDCtx();
	if (context)
		ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, ZSTD_WINDOW_LOG_MAX);
	return context;
}

/* 0 of zstd is the end of a frame. Another frame may follow. */
static enum step step_zstd(void *decoder, struct piece *piece)
{
	ZSTD_inBuffer in = {piece->in, piece->in_bytes, 0};
	ZSTD_outBuffer out = {piece->out, piece->out_bytes, 0};
	size_t status = ZSTD_decompressStream(decoder, &out, &in);
	if (ZSTD_isError(status))
		return STEP_DAMAGED;
	piece->in_bytes -= in.pos;
	piece->out_bytes -= out.pos;
	return status == 0 && piece->is_last && !piece->in_bytes ? STEP_END : STEP_MORE;
}

#ifdef HAVE_ZLIB
/* The largest window, and gzip's header. */
enum { GZIP_WINDOW_BITS = MAX_WBITS + 16 };

static void destroy_gzip(void *decoder)
{
	inflateEnd(decoder);
	free(decoder);
}

static void *create_gzip(void)
{
	z_stream *stream = calloc(1, sizeof(*stream));
	if (stream && inflateInit2(stream, GZIP_WINDOW_BITS) == Z_OK)
		return stream;
	free(stream);
	return NULL;
}

static enum step step_gzip(void *decoder, struct piece *piece)
{
	z_stream *stream = decoder;
	stream->next_in = (z_const Bytef *)piece->in;
	stream->avail_in = (uInt)piece->in_bytes;
	stream->next_out = piece->out;
	stream->avail_out = (uInt)piece->out_bytes;
	int status = inflate(stream, Z_NO_FLUSH);
	piece->in_bytes = stream->avail_in;
	piece->out_bytes = stream->avail_out;
	return status == Z_OK || status == Z_BUF_ERROR ? STEP_MORE
	       : status == Z_STREAM_END		       ? STEP_END
	       : status == Z_MEM_ERROR		       ? STEP_NO_MEMORY
						       : STEP_DAMAGED;
}
#endif

static const struct format formats[] = {
#ifdef HAVE_LZMA
	{"\xfd"
	 "7zXZ\0",
	 6, create_xz, step_xz, destroy_xz},
#endif
	{"\x28\xb5\x2f\xfd", 4, create_zstd, step_zstd, destroy_zstd},
#ifdef HAVE_ZLIB
	{"\x1f\x8b", 2, create_gzip, step_gzip, destroy_gzip},
#endif
};

static const struct format *find_format(const char *bytes, size_t len_bytes)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (len_bytes >= formats[i].magic_bytes &&
		    !memcmp(bytes, formats[i].magic, formats[i].magic_bytes))
			return &formats[i];
	return NULL;
}

bool vmop_is_packed(const char *bytes, size_t len_bytes)
{
	return find_format(bytes, len_bytes) != NULL;
}

/* Make room for one more piece. Return false on failure; *ret_no_memory: memory ran out. */
static bool grow(struct vmop_unpacked *unpacked, bool *ret_no_memory)
{
	size_t capacity = unpacked->capacity_bytes;
	size_t wanted = capacity < PIECE_BYTES ? PIECE_BYTES : capacity / 4 * 5;
	if (wanted > VMOP_UNPACKED_MAX_BYTES)
		wanted = VMOP_UNPACKED_MAX_BYTES;
	if (wanted == capacity)
		return vmop_sym_budget_spend(unpacked->budget, VMOP_SYM_COST_UNPACKING);
	if (!vmop_sym_budget_take_memory(unpacked->budget, wanted - capacity))
		return false;
	char *grown = realloc(unpacked->bytes, wanted);
	*ret_no_memory = !grown;
	if (!grown) {
		vmop_sym_budget_give_memory(unpacked->budget, wanted - capacity);
		return false;
	}
	unpacked->bytes = grown;
	unpacked->capacity_bytes = wanted;
	return true;
}

static size_t smaller(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Unpack one piece of the input, which begins at *at. */
static enum step unpack_piece(const struct format *format, void *decoder, const char *packed,
			      size_t len_bytes, size_t *at, struct vmop_unpacked *unpacked)
{
	bool no_memory = false;
	if (unpacked->len_bytes == unpacked->capacity_bytes && !grow(unpacked, &no_memory))
		return no_memory ? STEP_NO_MEMORY : STEP_DAMAGED;
	const struct piece whole = {
		.in = (const uint8_t *)packed + *at,
		.in_bytes = smaller(len_bytes - *at, PIECE_BYTES),
		.out = (uint8_t *)unpacked->bytes + unpacked->len_bytes,
		.out_bytes = smaller(unpacked->capacity_bytes - unpacked->len_bytes, PIECE_BYTES),
		.is_last = len_bytes - *at <= PIECE_BYTES};
	struct piece piece = whole;
	if (!vmop_sym_budget_take_read(unpacked->budget, piece.out_bytes) ||
	    !vmop_sym_budget_look(unpacked->budget))
		return STEP_DAMAGED;
	enum step step = format->step(decoder, &piece);
	*at += whole.in_bytes - piece.in_bytes;
	unpacked->len_bytes += whole.out_bytes - piece.out_bytes;
	bool is_stuck = piece.in_bytes == whole.in_bytes && piece.out_bytes == whole.out_bytes;
	return step == STEP_MORE && is_stuck ? STEP_DAMAGED : step;
}

static enum step unpack_all(const struct format *format, const char *packed, size_t len_bytes,
			    struct vmop_unpacked *unpacked)
{
	void *decoder = format->create();
	enum step step = decoder ? STEP_MORE : STEP_NO_MEMORY;
	size_t at = 0;
	while (step == STEP_MORE)
		step = unpack_piece(format, decoder, packed, len_bytes, &at, unpacked);
	if (decoder)
		format->destroy(decoder);
	return step;
}

struct vmop_error *vmop_unpack(const char *packed, size_t len_bytes, const char *path,
			       struct vmop_sym_budget *budget, struct vmop_unpacked *ret)
{
	const struct format *format = find_format(packed, len_bytes);
	*ret = (struct vmop_unpacked){.budget = budget};
	if (!format)
		return NULL;
	if (!vmop_sym_budget_take_memory(budget, DECODER_MAX_BYTES))
		return vmop_sym_budget_error(budget, path);
	enum step step = unpack_all(format, packed, len_bytes, ret);
	vmop_sym_budget_give_memory(budget, DECODER_MAX_BYTES);
	if (step != STEP_END)
		vmop_unpacked_deinit(ret);
	if (step == STEP_NO_MEMORY)
		return &vmop_error_no_memory;
	return budget->spent ? vmop_sym_budget_error(budget, path) : NULL;
}

void vmop_unpacked_deinit(struct vmop_unpacked *unpacked)
{
	if (unpacked->budget)
		vmop_sym_budget_give_memory(unpacked->budget, unpacked->capacity_bytes);
	free(unpacked->bytes);
	*unpacked = (struct vmop_unpacked){.budget = unpacked->budget};
}
