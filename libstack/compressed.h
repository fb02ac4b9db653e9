// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compressed sections. Debug sections may be compressed by zlib or zstd behind a header (System V
 * ABI, chapter 4, "Section Compression": Elf64_Chdr) or, in the older way of .zdebug sections, by
 * zlib behind "ZLIB" and the length in big-endian order. A section is untrusted, and so is the
 * length that its header claims.
 */
#ifndef VMOP_LIBSTACK_COMPRESSED_H
#define VMOP_LIBSTACK_COMPRESSED_H

#include <stddef.h>
#include <stdint.h>

struct vmop_cfi_budget;
struct vmop_error;

enum vmop_cfi_compression {
	VMOP_CFI_PLAIN,	 /* not compressed */
	VMOP_CFI_CHDR,	 /* SHF_COMPRESSED */
	VMOP_CFI_ZDEBUG, /* .zdebug_frame */
};

/*
 * Decompress a section. The budget pays for the claimed length before a byte is decompressed. The
 * caller frees *ret with vmop_cfi_budget_free(); NULL without an error: the section is compressed
 * in a way that this build does not support. VMOP_ERROR_CORRUPT: the section is damaged, or does
 * not have the claimed length.
 */
struct vmop_error *vmop_cfi_decompress(enum vmop_cfi_compression compression, const uint8_t *bytes,
				       size_t len_bytes, struct vmop_cfi_budget *budget,
				       uint8_t **ret, size_t *ret_len_bytes);

#endif
