// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An ELF image: its executable segments, and its sections with CFI. The image is a file, read by
 * pread(2), lies in memory, or is read by the caller's function. It is untrusted, and a file may
 * change or shrink at any time: no byte is used twice without being checked again.
 *
 * libsym reads ELF files too, by libelf, which takes whole files into memory. Libraries do not
 * include one another, and CFI needs two sections.
 */
#ifndef VMOP_LIBSTACK_IMAGE_H
#define VMOP_LIBSTACK_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libstack/cfi.h"

struct vmop_cfi_budget;
struct vmop_cfi_reader;
struct vmop_error;

enum { VMOP_CFI_MAX_SEGMENTS = 16 };

/* The part of an executable segment that the file contains. */
struct vmop_cfi_segment {
	uint64_t address, offset, len_bytes; /* neither sum with len_bytes overflows */
};

struct vmop_cfi_image {
	const struct vmop_cfi_reader *reader; /* NULL: fd or memory */
	int fd;				      /* -1: the image is in memory */
	const void *memory;		      /* not owned */
	size_t memory_bytes;
	uint16_t machine; /* EM_X86_64 or EM_AARCH64 */
	uint64_t entry;	  /* the address of the entry point, or 0 */
	size_t n_segments;
	struct vmop_cfi_segment segments[VMOP_CFI_MAX_SEGMENTS];
	uint64_t text_bytes; /* of the segments */
	bool is_go;	     /* it has a note of Go's linker */
	/* Tables of headers: offsets and lengths. */
	uint64_t program_headers, section_headers;
	uint32_t n_program_headers, n_section_headers, names_section;
};

/*
 * Read the headers. image->reader, ->fd, or ->memory and ->memory_bytes, are the caller's.
 * VMOP_ERROR_CORRUPT: no ELF file of a supported machine, or a damaged one.
 */
struct vmop_error *vmop_cfi_image_read(struct vmop_cfi_image *image);

/*
 * Read .eh_frame, or .debug_frame if is_debug_frame, decompressed. ret->bytes is NULL if the image
 * has no such section, or one that is compressed in an unknown way. Pages of .eh_frame that
 * image->reader cannot read are holes. The caller frees *ret with vmop_cfi_image_free_cfi().
 */
struct vmop_error *vmop_cfi_image_read_cfi(const struct vmop_cfi_image *image, bool is_debug_frame,
					   struct vmop_cfi_budget *budget,
					   struct vmop_cfi_section *ret);

void vmop_cfi_image_free_cfi(struct vmop_cfi_section *section, struct vmop_cfi_budget *budget);

/*
 * Read the search table of .eh_frame: the segment PT_GNU_EH_FRAME. Likewise, but *ret has only
 * bytes, holes and the address.
 */
struct vmop_error *vmop_cfi_image_read_search_table(const struct vmop_cfi_image *image,
						    struct vmop_cfi_budget *budget,
						    struct vmop_cfi_section *ret);

/* Return the executable segment that contains address, or NULL. */
const struct vmop_cfi_segment *vmop_cfi_image_segment(const struct vmop_cfi_image *image,
						      uint64_t address);

#endif
