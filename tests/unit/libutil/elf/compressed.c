// SPDX-License-Identifier: GPL-2.0-or-later
/* Sections that zlib and zstd themselves compress are unpacked, and damaged ones are refused. */
#include <cmocka.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <zstd.h>

#include "config.h"
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#include "libutil/elf/compressed.h"

enum { TEXT_BYTES = 10000, SECTION_BYTES = 12000, ZLIB = 1, ZSTD = 2 };

/* A text that compresses well, and its compressed section. */
struct example {
	enum vmop_compression compression;
	char text[TEXT_BYTES];
	uint8_t section[SECTION_BYTES];
	size_t header_bytes, section_bytes;
};

static void fill(struct example *example)
{
	for (size_t i = 0; i < TEXT_BYTES; i++)
		example->text[i] = (char)('a' + i * i % 23);
}

static void put_chdr(struct example *example, uint32_t type)
{
	const Elf64_Chdr header = {.ch_type = type, .ch_size = TEXT_BYTES, .ch_addralign = 1};
	example->compression = VMOP_COMPRESSION_CHDR;
	memcpy(example->section, &header, sizeof(header));
	example->header_bytes = sizeof(header);
}

static void put_zstd(struct example *example)
{
	fill(example);
	put_chdr(example, ZSTD);
	size_t n =
		ZSTD_compress(example->section + example->header_bytes,
			      SECTION_BYTES - example->header_bytes, example->text, TEXT_BYTES, 3);
	assert_false(ZSTD_isError(n));
	example->section_bytes = example->header_bytes + n;
}

#ifdef HAVE_ZLIB
static void put_zlib(struct example *example)
{
	uLong n = SECTION_BYTES - example->header_bytes;
	assert_int_equal(compress(example->section + example->header_bytes, &n,
				  (const uint8_t *)example->text, TEXT_BYTES),
			 Z_OK);
	example->section_bytes = example->header_bytes + n;
}
#endif

/* Return whether the section's first len_bytes unpack to the text. */
static bool unpacks(const struct example *example, size_t len_bytes)
{
	struct vmop_compressed compressed;
	char plain[TEXT_BYTES];
	if (!vmop_compressed_read(example->compression, example->section, len_bytes, &compressed))
		return false;
	assert_true(vmop_compressed_is_supported(&compressed));
	assert_int_equal(compressed.plain_bytes, TEXT_BYTES);
	return vmop_compressed_unpack(&compressed, plain) &&
	       memcmp(plain, example->text, TEXT_BYTES) == 0;
}

static void check(const struct example *example)
{
	assert_true(unpacks(example, example->section_bytes));
	assert_true(example->section_bytes < TEXT_BYTES);
	for (size_t len_bytes = 0; len_bytes < example->section_bytes; len_bytes++)
		assert_false(unpacks(example, len_bytes));
	struct vmop_compressed compressed;
	char plain[TEXT_BYTES + 1];
	assert_true(vmop_compressed_read(example->compression, example->section,
					 example->section_bytes, &compressed));
	compressed.plain_bytes--;
	assert_false(vmop_compressed_unpack(&compressed, plain));
	compressed.plain_bytes += 2;
	assert_false(vmop_compressed_unpack(&compressed, plain));
}

static void zstd_is_unpacked(void **state)
{
	(void)state;
	static struct example example;
	put_zstd(&example);
	check(&example);
}

static void zlib_is_unpacked(void **state)
{
	(void)state;
#ifdef HAVE_ZLIB
	static struct example example;
	fill(&example);
	put_chdr(&example, ZLIB);
	put_zlib(&example);
	check(&example);
#else
	print_message("not tested: this build has no zlib\n");
	skip();
#endif
}

static void old_sections_are_unpacked(void **state)
{
	(void)state;
#ifdef HAVE_ZLIB
	static struct example example;
	static const uint8_t header[] = {'Z', 'L', 'I', 'B', 0,		 0,
					 0,   0,   0,	0,   10000 >> 8, 10000 & 255};
	fill(&example);
	example.compression = VMOP_COMPRESSION_ZDEBUG;
	example.header_bytes = sizeof(header);
	memcpy(example.section, header, sizeof(header));
	put_zlib(&example);
	check(&example);
	example.section[0] = 'z';
	assert_false(unpacks(&example, example.section_bytes));
#else
	print_message("not tested: this build has no zlib\n");
	skip();
#endif
}

static void other_types_are_not_supported(void **state)
{
	(void)state;
	static struct example example;
	struct vmop_compressed compressed;
	put_zstd(&example);
	put_chdr(&example, 77);
	assert_true(vmop_compressed_read(example.compression, example.section,
					 example.section_bytes, &compressed));
	assert_false(vmop_compressed_is_supported(&compressed));
	char plain[TEXT_BYTES];
	assert_false(vmop_compressed_unpack(&compressed, plain));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(zstd_is_unpacked),
		cmocka_unit_test(zlib_is_unpacked),
		cmocka_unit_test(old_sections_are_unpacked),
		cmocka_unit_test(other_types_are_not_supported),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
