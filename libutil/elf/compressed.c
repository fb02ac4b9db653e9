// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/elf/compressed.h"

#include <elf.h>
#include <endian.h>
#include <string.h>
#include <zstd.h>

#include "config.h"
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#ifndef ELFCOMPRESS_ZSTD /* glibc before 2.37 */
#define ELFCOMPRESS_ZSTD 2
#endif

static bool read_chdr(const void *section, size_t len_bytes, struct vmop_compressed *ret)
{
	Elf64_Chdr header;
	if (len_bytes < sizeof(header))
		return false;
	memcpy(&header, section, sizeof(header));
	*ret = (struct vmop_compressed){.type = header.ch_type,
					.data = (const uint8_t *)section + sizeof(header),
					.data_bytes = len_bytes - sizeof(header),
					.plain_bytes = header.ch_size};
	return true;
}

static bool read_zdebug(const void *section, size_t len_bytes, struct vmop_compressed *ret)
{
	struct {
		char magic[4];
		uint8_t plain_bytes[8];
	} header;
	uint64_t plain_bytes;
	if (len_bytes < sizeof(header))
		return false;
	memcpy(&header, section, sizeof(header));
	memcpy(&plain_bytes, header.plain_bytes, sizeof(plain_bytes));
	*ret = (struct vmop_compressed){.type = ELFCOMPRESS_ZLIB,
					.data = (const uint8_t *)section + sizeof(header),
					.data_bytes = len_bytes - sizeof(header),
					.plain_bytes = be64toh(plain_bytes)};
	return memcmp(header.magic, "ZLIB", sizeof(header.magic)) == 0;
}

bool vmop_compressed_read(enum vmop_compression compression, const void *section, size_t len_bytes,
			  struct vmop_compressed *ret)
{
	return compression == VMOP_COMPRESSION_CHDR ? read_chdr(section, len_bytes, ret)
						    : read_zdebug(section, len_bytes, ret);
}

bool vmop_compressed_is_supported(const struct vmop_compressed *compressed)
{
#ifdef HAVE_ZLIB
	if (compressed->type == ELFCOMPRESS_ZLIB)
		return true;
#endif
	return compressed->type == ELFCOMPRESS_ZSTD;
}

bool vmop_compressed_unpack(const struct vmop_compressed *compressed, void *plain)
{
#ifdef HAVE_ZLIB
	if (compressed->type == ELFCOMPRESS_ZLIB) {
		uLong plain_bytes = compressed->plain_bytes, data_bytes = compressed->data_bytes;
		return uncompress2(plain, &plain_bytes, compressed->data, &data_bytes) == Z_OK &&
		       plain_bytes == compressed->plain_bytes;
	}
#endif
	return compressed->type == ELFCOMPRESS_ZSTD &&
	       ZSTD_decompress(plain, compressed->plain_bytes, compressed->data,
			       compressed->data_bytes) == compressed->plain_bytes;
}
