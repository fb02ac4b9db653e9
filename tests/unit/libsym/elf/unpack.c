// SPDX-License-Identifier: GPL-2.0-or-later
/* Compressed files: their content, damage, and content that is far longer than the file. */
#include "libsym/elf/unpack.h"

#include <cmocka.h>
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

/* More than one piece. */
#define CONTENT_BYTES ((size_t)3 << 20)
#define BOMB_BYTES (VMOP_UNPACKED_MAX_BYTES + 1)

struct packed {
	char *bytes;
	size_t len_bytes;
};

static struct packed pack_zstd(const char *bytes, size_t len_bytes)
{
	size_t room = ZSTD_compressBound(len_bytes);
	struct packed packed = {.bytes = malloc(room)};
	packed.len_bytes = ZSTD_compress(packed.bytes, room, bytes, len_bytes, 1);
	assert_false(ZSTD_isError(packed.len_bytes));
	return packed;
}

#ifdef HAVE_LZMA
static struct packed pack_xz(const char *bytes, size_t len_bytes)
{
	size_t room = lzma_stream_buffer_bound(len_bytes), end = 0;
	struct packed packed = {.bytes = malloc(room)};
	assert_int_equal(lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, (const uint8_t *)bytes,
						 len_bytes, (uint8_t *)packed.bytes, &end, room),
			 LZMA_OK);
	packed.len_bytes = end;
	return packed;
}
#endif

#ifdef HAVE_ZLIB
static struct packed pack_gzip(const char *bytes, size_t len_bytes)
{
	z_stream stream = {0};
	assert_int_equal(deflateInit2(&stream, 1, Z_DEFLATED, MAX_WBITS + 16, 8, 0), Z_OK);
	size_t room = deflateBound(&stream, len_bytes);
	struct packed packed = {.bytes = malloc(room)};
	stream.next_in = (z_const Bytef *)bytes;
	stream.avail_in = (uInt)len_bytes;
	stream.next_out = (Bytef *)packed.bytes;
	stream.avail_out = (uInt)room;
	assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
	packed.len_bytes = stream.total_out;
	deflateEnd(&stream);
	return packed;
}
#endif

static struct packed (*const packers[])(const char *, size_t) = {
	pack_zstd,
#ifdef HAVE_LZMA
	pack_xz,
#endif
#ifdef HAVE_ZLIB
	pack_gzip,
#endif
};
enum { N_PACKERS = sizeof(packers) / sizeof(packers[0]) };

/* Unpack, and check that no memory stays charged. Return a copy of the content, or NULL. */
static char *unpack(const struct packed *packed, size_t len_bytes, size_t *ret_len_bytes)
{
	struct vmop_sym_budget budget;
	struct vmop_unpacked unpacked;
	vmop_sym_budget_init(&budget);
	assert_null(vmop_unpack(packed->bytes, len_bytes, "test", &budget, &unpacked));
	char *copy = unpacked.bytes ? malloc(unpacked.len_bytes + 1) : NULL;
	if (copy)
		memcpy(copy, unpacked.bytes, unpacked.len_bytes);
	*ret_len_bytes = unpacked.len_bytes;
	vmop_unpacked_deinit(&unpacked);
	assert_int_equal(budget.memory_left_bytes, VMOP_SYM_BUDGET_MEMORY_BYTES);
	return copy;
}

static char *make_content(void)
{
	char *content = malloc(CONTENT_BYTES);
	srandom(1);
	for (size_t i = 0; i < CONTENT_BYTES; i++)
		content[i] = (char)(random() & 15);
	return content;
}

static void content_is_unpacked(void **state)
{
	(void)state;
	char *content = make_content();
	for (size_t i = 0; i < N_PACKERS; i++) {
		struct packed packed = packers[i](content, CONTENT_BYTES);
		size_t len_bytes;
		assert_true(vmop_is_packed(packed.bytes, VMOP_PACKED_MAGIC_BYTES));
		assert_false(vmop_is_packed(packed.bytes, 1));
		char *copy = unpack(&packed, packed.len_bytes, &len_bytes);
		assert_non_null(copy);
		assert_int_equal(len_bytes, CONTENT_BYTES);
		assert_memory_equal(copy, content, CONTENT_BYTES);
		free(copy);
		free(packed.bytes);
	}
	free(content);
}

static void damaged_files_have_no_content(void **state)
{
	(void)state;
	char *content = make_content();
	for (size_t i = 0; i < N_PACKERS; i++) {
		struct packed packed = packers[i](content, CONTENT_BYTES);
		const size_t lengths[] = {0, 3, 7, packed.len_bytes / 2, packed.len_bytes - 1};
		size_t len_bytes;
		for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
			assert_null(unpack(&packed, lengths[k], &len_bytes));
			assert_int_equal(len_bytes, 0);
		}
		packed.bytes[2] ^= 1; /* the magic, or the method */
		assert_null(unpack(&packed, packed.len_bytes, &len_bytes));
		free(packed.bytes);
	}
	free(content);
	const struct packed none = {(char[]){"\177ELF and no compression"}, 20};
	size_t len_bytes;
	assert_false(vmop_is_packed(none.bytes, none.len_bytes));
	assert_null(unpack(&none, none.len_bytes, &len_bytes));
}

static void bombs_reach_the_limit(void **state)
{
	(void)state;
	char *zeros = calloc(1, BOMB_BYTES);
	for (size_t i = 0; i < N_PACKERS; i++) {
		struct packed packed = packers[i](zeros, BOMB_BYTES);
		struct vmop_sym_budget budget;
		struct vmop_unpacked unpacked;
		vmop_sym_budget_init(&budget);
		budget.cpu_end_ns = budget.wall_end_ns = UINT64_MAX;
		struct vmop_error *err =
			vmop_unpack(packed.bytes, packed.len_bytes, "bomb", &budget, &unpacked);
		assert_non_null(err);
		assert_int_equal(err->code, VMOP_ERROR_LIMIT);
		assert_non_null(strstr(err->message, "bomb: too costly"));
		vmop_error_destroy(err);
		assert_null(unpacked.bytes);
		vmop_unpacked_deinit(&unpacked);
		assert_int_equal(budget.memory_left_bytes, VMOP_SYM_BUDGET_MEMORY_BYTES);
		free(packed.bytes);
	}
	free(zeros);
}

static void a_small_budget_ends_the_work(void **state)
{
	(void)state;
	char *content = make_content();
	struct packed packed = pack_zstd(content, CONTENT_BYTES);
	struct vmop_sym_budget budget;
	struct vmop_unpacked unpacked;
	vmop_sym_budget_init(&budget);
	budget.read_left_bytes = CONTENT_BYTES / 2;
	struct vmop_error *err =
		vmop_unpack(packed.bytes, packed.len_bytes, "file", &budget, &unpacked);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_LIMIT);
	vmop_error_destroy(err);
	assert_null(unpacked.bytes);
	free(packed.bytes);
	free(content);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(content_is_unpacked),
		cmocka_unit_test(damaged_files_have_no_content),
		cmocka_unit_test(bombs_reach_the_limit),
		cmocka_unit_test(a_small_budget_ends_the_work),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
