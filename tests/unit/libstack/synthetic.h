// SPDX-License-Identifier: GPL-2.0-or-later
/* Small ELF images with hand-made CFI. */
#ifndef VMOP_TEST_LIBSTACK_SYNTHETIC_H
#define VMOP_TEST_LIBSTACK_SYNTHETIC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libstack/table.h"

/* The image's text: addresses are offsets + SYNTHETIC_BIAS. */
enum {
	SYNTHETIC_BIAS = 0x400000,
	SYNTHETIC_TEXT = 0x1000, /* offset */
	SYNTHETIC_TEXT_BYTES = 0x10000,
};

/* A section being written. */
struct synthetic_cfi {
	uint8_t *bytes;
	size_t n, capacity;
	bool is_debug_frame;
	size_t cie; /* offset of the last CIE */
};

void synthetic_deinit(struct synthetic_cfi *cfi);

/* Append a CIE: code factor 1, data factor -8. Programs of .eh_frame have absolute addresses. */
void synthetic_cie(struct synthetic_cfi *cfi, const char *augmentation, uint8_t ra_column,
		   const void *program, size_t program_bytes);

/* The usual CIE: of x86-64, or of arm64. */
void synthetic_usual_cie(struct synthetic_cfi *cfi, uint16_t machine);

/* Append an FDE of the last CIE for a function at an offset of the file. */
void synthetic_fde(struct synthetic_cfi *cfi, uint64_t start, uint64_t len_bytes,
		   const void *program, size_t program_bytes);

/* How the image is made. */
struct synthetic_image {
	uint16_t machine; /* 0: EM_X86_64 */
	uint64_t entry;	  /* offset in the file, or 0 */
	const struct synthetic_cfi *eh_frame, *debug_frame;
	bool has_search_table; /* PT_GNU_EH_FRAME instead of a section header */
	bool is_go;	       /* a note of Go's linker follows another note */
};

/* Return the image; the caller frees it. */
uint8_t *synthetic_make(const struct synthetic_image *image, size_t *ret_len_bytes);

/* Build the image's table with ample limits. */
struct vmop_error *synthetic_table(const struct synthetic_image *image,
				   struct vmop_cfi_table **ret);

#endif
