// SPDX-License-Identifier: GPL-2.0-or-later
/* The build-id of an ELF file by its program headers, with nothing but a way to read it. */
#ifndef VMOP_LIBGUEST_ELF_HEADER_H
#define VMOP_LIBGUEST_ELF_HEADER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Reads len_bytes at a file offset; false: it can't. */
typedef bool vmop_elf_read_fn(void *arg, uint64_t offset, void *buf, size_t len_bytes);

/* Into ret[20]; gives the length. 0: none, or not a little-endian ELF file. */
uint8_t vmop_elf_header_build_id(vmop_elf_read_fn *read, void *arg, uint8_t *ret);

#endif
