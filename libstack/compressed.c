// SPDX-License-Identifier: GPL-2.0-or-later
#include "libstack/compressed.h"

#include <elf.h>
#include <endian.h>
#include <stdbool.h>
#include <string.h>
#include <zstd.h>

#include "config.h"
#ifdef HAVE_ZLIB
#include <zlib.h>
#endif

#include "libstack/budget.h"
#include "libutil/error.h"

#ifndef ELFCOMPRESS_ZSTD /* glibc before 2.37 */
#define ELFCOMPRESS_ZSTD 2
#endif

/* What a section's header states, and the data behind it. */
struct compressed {
	uint32_t type; /* ELFCOMPRESS_ */
	const uint8_t *data;
	size_t data_bytes;
	uint64_t plain_bytes;
};

static bool read_chdr(const uint8_t *bytes, size_t len_bytes, struct compressed *ret)
{
	Elf64_Chdr header;
	if (len_bytes < sizeof(header))
		return false;
	memcpy(&header, bytes, sizeof(header));
	*ret = (struct compressed){.type = header.ch_type,
				   .data = bytes + sizeof(header),
				   .data_bytes = len_bytes - sizeof(header),
				   .plain_bytes = header.ch_size};
	return true;
}

static bool read_zdebug_header(const uint8_t *bytes, size_t len_bytes, struct compressed *ret)
{
	struct {
		char magic[4];
		uint8_t plain_bytes[8];
	} header;
	uint64_t plain_bytes;
	if (len_bytes < sizeof(header))
		return false;
	memcpy(&header, bytes, sizeof(header));
	memcpy(&plain_bytes, header.plain_bytes, sizeof(plain_bytes));
	*ret = (struct compressed){.type = ELFCOMPRESS_ZLIB,
				   .data = bytes + sizeof(header),
				   .data_bytes = len_bytes - sizeof(header),
				   .plain_bytes = be64toh(plain_bytes)};
	return memcmp(header.magic, "ZLIB", sizeof(header.magic)) == 0;
}

static bool is_supported(uint32_t type)
{
#ifdef HAVE_ZLIB
	if (type == ELFCOMPRESS_ZLIB)
		return true;
#endif
	return type == ELFCOMPRESS_ZSTD;
}

/* Fill plain, which has the claimed length, exactly. */
static bool decompress(const struct compressed *compressed, uint8_t *plain)
{
#ifdef HAVE_ZLIB
	if (compressed->type == ELFCOMPRESS_ZLIB) {
		uLong plain_bytes = compressed->plain_bytes, data_bytes = compressed->data_bytes;
		return uncompress2(plain, &plain_bytes, compressed->data, &data_bytes) == Z_OK &&
		       plain_bytes == compressed->plain_bytes;
	}
#endif
	return ZSTD_decompress(plain, compressed->plain_bytes, compressed->data,
			       compressed->data_bytes) == compressed->plain_bytes;
}

struct vmop_error *vmop_cfi_decompress(enum vmop_cfi_compression compression, const uint8_t *bytes,
				       size_t len_bytes, struct vmop_cfi_budget *budget,
				       uint8_t **ret, size_t *ret_len_bytes)
{
	struct compressed compressed;
	*ret = NULL;
	*ret_len_bytes = 0;
	bool is_good = compression == VMOP_CFI_CHDR
			       ? read_chdr(bytes, len_bytes, &compressed)
			       : read_zdebug_header(bytes, len_bytes, &compressed);
	if (is_good && !is_supported(compressed.type))
		return NULL;
	uint8_t *plain = NULL;
	if (is_good) {
		plain = vmop_cfi_budget_resize(budget, NULL, 0, compressed.plain_bytes, 1);
		if (!plain)
			return vmop_cfi_budget_error(budget);
		is_good = decompress(&compressed, plain);
	}
	/* The length is bounded, and so is the time that was not checked meanwhile. */
	bool is_in_time = vmop_cfi_budget_check_time(budget);
	if (is_good && is_in_time) {
		*ret = plain;
		*ret_len_bytes = compressed.plain_bytes;
		return NULL;
	}
	vmop_cfi_budget_free(budget, plain, plain ? compressed.plain_bytes : 0, 1);
	return is_in_time ? vmop_error_new(VMOP_ERROR_CORRUPT,
					   "its compressed call frame information is damaged")
			  : vmop_cfi_budget_error(budget);
}
