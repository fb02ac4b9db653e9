// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/profile-writer.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include <zlib.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/escape.h"
#include "libutil/hash-seed.h"

#define FIRST_BUCKETS 4096
#define GZIP_WINDOW_BITS (15 + 16) /* zlib.h, deflateInit2: a gzip header */
#define GZIP_LEVEL 1 /* takes half of level 4's time, and 8 % more bytes */
#define MEMORY_LEVEL 8
/* Compressing every piece by itself takes longer: zlib reads its state, and checksums few bytes. */
#define AT_ONCE_BYTES ((size_t)1 << 16)

/* A string of the table.  Two strings with equal hashes of 128 bits are not to be expected. */
struct string {
	XXH128_hash_t hash;
	int64_t index; /* 0: free */
};

struct vmop_profile_writer {
	FILE *out;
	z_stream gzip;
	uint8_t *packed; /* n_packed bytes that are not compressed yet */
	size_t n_packed, packed_capacity;
	uint8_t compressed[1 << 16];
	struct string *strings; /* n_buckets, a power of two */
	size_t n_buckets;
	int64_t n_strings;
	bool is_out_of_memory;
};

/* ---- pieces ------------------------------------------------------------------- */

/* Compress len bytes; flush is Z_NO_FLUSH or Z_FINISH. */
static void compress_bytes(struct vmop_profile_writer *writer, const uint8_t *bytes, size_t len,
			   int flush)
{
	z_stream *gzip = &writer->gzip;
	gzip->next_in = (uint8_t *)bytes;
	gzip->avail_in = (uInt)len; /* a piece is far below 4 GB */
	do {
		gzip->next_out = writer->compressed;
		gzip->avail_out = sizeof(writer->compressed);
		deflate(gzip, flush);
		fwrite(writer->compressed, 1, sizeof(writer->compressed) - gzip->avail_out,
		       writer->out);
	} while (!gzip->avail_out);
}

/* Return room for a piece behind the packed bytes, or NULL without memory. */
static uint8_t *make_room(struct vmop_profile_writer *writer, size_t len_bytes)
{
	if (writer->n_packed && writer->n_packed + len_bytes > AT_ONCE_BYTES) {
		compress_bytes(writer, writer->packed, writer->n_packed, Z_NO_FLUSH);
		writer->n_packed = 0;
	}
	if (vmop_array_reserve(writer->packed, writer->packed_capacity,
			       writer->n_packed + len_bytes + 1))
		return writer->packed + writer->n_packed;
	writer->is_out_of_memory = true;
	return NULL;
}

void vmop_profile_writer_put(struct vmop_profile_writer *writer,
			     const struct Vmop__Pprof__Profile *piece)
{
	uint8_t *at = make_room(writer, vmop__pprof__profile__get_packed_size(piece));
	if (at)
		writer->n_packed += vmop__pprof__profile__pack(piece, at);
}

void vmop_profile_writer_put_sample(struct vmop_profile_writer *writer,
				    const struct vmop_profile_path *path,
				    const struct vmop_profile_values *values)
{
	uint8_t *at = make_room(writer, vmop_profile_sample_bound_bytes(path, values));
	if (at)
		writer->n_packed += vmop_profile_sample_pack(path, values, at);
}

/* ---- strings ------------------------------------------------------------------- */

static struct string *find_string(struct vmop_profile_writer *writer, XXH128_hash_t hash)
{
	size_t mask = writer->n_buckets - 1, at = (size_t)hash.low64 & mask;
	while (writer->strings[at].index && !XXH128_isEqual(writer->strings[at].hash, hash))
		at = (at + 1) & mask;
	return &writer->strings[at];
}

static bool grow(struct vmop_profile_writer *writer)
{
	struct string *old = writer->strings;
	size_t n_old = old ? writer->n_buckets : 0;
	writer->strings = calloc(n_old ? 2 * n_old : FIRST_BUCKETS, sizeof(*old));
	if (!writer->strings) {
		writer->strings = old;
		return false;
	}
	writer->n_buckets = n_old ? 2 * n_old : FIRST_BUCKETS;
	for (size_t i = 0; i < n_old; i++)
		if (old[i].index)
			*find_string(writer, old[i].hash) = old[i];
	free(old);
	return true;
}

static void put_string(struct vmop_profile_writer *writer, char *text)
{
	Vmop__Pprof__Profile piece = VMOP__PPROF__PROFILE__INIT;
	piece.n_string_table = 1;
	piece.string_table = &text;
	vmop_profile_writer_put(writer, &piece);
}

int64_t vmop_profile_writer_text(struct vmop_profile_writer *writer, const char *text)
{
	if (!*text)
		return 0;
	_cleanup_free_ char *escaped = vmop_escape(text, VMOP_CHARSET_UTF8);
	bool has_room = (size_t)writer->n_strings * 2 < writer->n_buckets || grow(writer);
	if (!escaped || !has_room) {
		writer->is_out_of_memory = true;
		return 0;
	}
	XXH128_hash_t hash = XXH3_128bits_withSeed(escaped, strlen(escaped), vmop_hash_seed());
	struct string *string = find_string(writer, hash);
	if (!string->index) {
		*string = (struct string){hash, ++writer->n_strings};
		put_string(writer, escaped);
	}
	return string->index;
}

/* ---- life ---------------------------------------------------------------------- */

struct vmop_error *vmop_profile_writer_create(FILE *out, struct vmop_profile_writer **ret)
{
	static char empty[] = "";
	struct vmop_profile_writer *writer = calloc(1, sizeof(*writer));
	if (!writer || !grow(writer) ||
	    deflateInit2(&writer->gzip, GZIP_LEVEL, Z_DEFLATED, GZIP_WINDOW_BITS, MEMORY_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		if (writer)
			free(writer->strings);
		free(writer);
		return &vmop_error_no_memory;
	}
	writer->out = out;
	put_string(writer, empty);
	*ret = writer;
	return NULL;
}

void vmop_profile_writer_destroy(struct vmop_profile_writer *writer)
{
	if (!writer)
		return;
	deflateEnd(&writer->gzip);
	free(writer->packed);
	free(writer->strings);
	free(writer);
}

struct vmop_error *vmop_profile_writer_finish(struct vmop_profile_writer *writer)
{
	compress_bytes(writer, writer->packed, writer->n_packed, Z_FINISH);
	return writer->is_out_of_memory ? &vmop_error_no_memory : NULL;
}
