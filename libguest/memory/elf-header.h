// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The program headers of an ELF file, with nothing but a way to read it.  The file may be
 * anybody's: what the headers say is not checked against anything.
 */
#ifndef VMOP_LIBGUEST_MEMORY_ELF_HEADER_H
#define VMOP_LIBGUEST_MEMORY_ELF_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads len_bytes at a file offset; false: it can't. */
typedef bool vmop_elf_read_fn(void *arg, uint64_t offset, void *buf, size_t len_bytes);

struct vmop_elf {
	vmop_elf_read_fn *read;
	void *arg;
	bool is_64;
	uint16_t type;	   /* ET_... */
	uint32_t segments; /* PN_XNUM: 65535 or more of them */
	uint64_t at;	   /* of the first header */
};

struct vmop_elf_segment {
	uint32_t type;		    /* PT_... */
	uint64_t offset, len_bytes; /* in the file */
	uint64_t physical;	    /* its physical address */
};

/* False: no little-endian ELF file. */
bool vmop_elf_open(vmop_elf_read_fn *read, void *arg, struct vmop_elf *ret);
/* False: it can't be read; index < segments. */
bool vmop_elf_segment(const struct vmop_elf *elf, uint32_t index, struct vmop_elf_segment *ret);

/* The build-id into ret[20]; gives its length. 0: none, or not a little-endian ELF file. */
uint8_t vmop_elf_header_build_id(vmop_elf_read_fn *read, void *arg, uint8_t *ret);

#endif
