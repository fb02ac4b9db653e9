// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The program headers of an ELF file, read through a callback. The file is hostile: values in its
 * headers are returned unchecked. Any thread may call these functions.
 */
#ifndef VMOP_LIBGUEST_MEMORY_ELF_HEADER_H
#define VMOP_LIBGUEST_MEMORY_ELF_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Read len_bytes at a file offset. Return false on failure. */
typedef bool vmop_guest_elf_read_fn(void *arg, uint64_t offset, void *buf, size_t len_bytes);

struct vmop_guest_elf {
	vmop_guest_elf_read_fn *read;
	void *arg;
	bool is_64;
	uint16_t type;	   /* ET_... */
	uint32_t segments; /* PN_XNUM: 65535 or more */
	uint64_t at;	   /* file offset of the first program header */
};

struct vmop_guest_elf_segment {
	uint32_t type;		    /* PT_... */
	uint64_t offset, len_bytes; /* in the file */
	uint64_t physical;	    /* p_paddr */
};

/*
 * Read the header of an ELF file into *ret, which keeps read and arg. Return false when it is not a
 * little-endian ELF file.
 */
bool vmop_guest_elf_open(vmop_guest_elf_read_fn *read, void *arg, struct vmop_guest_elf *ret);
/*
 * Read program header number index (below segments) into *ret. Return false when it cannot be read.
 */
bool vmop_guest_elf_segment(const struct vmop_guest_elf *elf, uint32_t index,
			    struct vmop_guest_elf_segment *ret);

/*
 * Copy the build-id of an ELF file to ret, which has room for 20 bytes, and return its length. 0:
 * none, or not a little-endian ELF file.
 */
uint8_t vmop_guest_elf_header_build_id(vmop_guest_elf_read_fn *read, void *arg, uint8_t *ret);

#endif
