// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Compressed sections of ELF files. Debug sections may be compressed by zlib or zstd behind a
 * header (System V ABI, chapter 4, "Section Compression": Elf64_Chdr) or, in the older way of
 * .zdebug sections, by zlib behind "ZLIB" and the length in big-endian order. A section is
 * untrusted, and so is the length that its header claims. Little-endian files of 64 bits only.
 *
 * The caller decides whether it can pay for the claimed length, allocates it, and unpacks.
 */
#ifndef VMOP_LIBUTIL_ELF_COMPRESSED_H
#define VMOP_LIBUTIL_ELF_COMPRESSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum vmop_compression {
	VMOP_COMPRESSION_NONE,
	VMOP_COMPRESSION_CHDR,	 /* SHF_COMPRESSED */
	VMOP_COMPRESSION_ZDEBUG, /* .zdebug_* */
};

/* A section's header, and the data behind it. */
struct vmop_compressed {
	uint32_t type;	     /* ELFCOMPRESS_ */
	const uint8_t *data; /* the caller's */
	size_t data_bytes;
	uint64_t plain_bytes; /* claimed */
};

/* Read the header of a section that is compressed in that way. False: it is damaged. */
bool vmop_compressed_read(enum vmop_compression compression, const void *section, size_t len_bytes,
			  struct vmop_compressed *ret);

/* Return whether this build can unpack the section's type. */
bool vmop_compressed_is_supported(const struct vmop_compressed *compressed);

/*
 * Unpack plain_bytes into plain. False: the data is damaged, or has another length. Takes some
 * nanoseconds for each byte.
 */
bool vmop_compressed_unpack(const struct vmop_compressed *compressed, void *plain);

#endif
