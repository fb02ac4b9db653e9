// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An ELF file opened with suspicion.
 *
 * What is read may have been written by anybody who can run a program here, and
 * may be cut short while it is read.  So: regular files only, read with pread(2) and
 * never mapped, no table believed before its size was held against the file's
 * and against the bounds below.
 *
 * Inside libsym only.  One thread at a time for one file.
 */
#ifndef VMOP_LIBSYM_ELF_FILE_H
#define VMOP_LIBSYM_ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"

#define VMOP_ELF_MAX_SECTIONS 65536 /* of libelf's descriptors, about 300 bytes each */
#define VMOP_ELF_MAX_SEGMENTS 4096
#define VMOP_ELF_MAX_SECTION_BYTES ((uint64_t)1 << 30)

/* A PT_LOAD segment. */
struct vmop_elf_load {
	uint64_t address, offset;
	uint64_t len_bytes; /* as it is in the file */
};

struct vmop_elf {
	Elf *elf;
	GElf_Ehdr header;
	const char *path;	     /* for messages; the caller's */
	uint64_t len_bytes;	     /* of the file */
	struct vmop_elf_load *loads; /* sorted by address */
	size_t n_loads;
};

/*
 * Opens path to be read, without waiting and without becoming anybody's terminal; what
 * is no regular file is VMOP_ERROR_CANT.  root_fd is AT_FDCWD or a folder that
 * nothing in path leads out of ("..", absolute links), where the kernel has
 * openat2 (5.6).
 */
struct vmop_error *vmop_elf_open_path(int root_fd, const char *path, int *ret_fd);

/* fd stays the caller's, and open as long as *ret.  path as well. */
struct vmop_error *vmop_elf_create(int fd, const char *path, struct vmop_elf **ret);

/* The same of an image in memory, which the caller keeps as long as *ret. */
struct vmop_error *vmop_elf_create_in_memory(char *image, size_t len_bytes, const char *path,
					     struct vmop_elf **ret);
void vmop_elf_destroy(struct vmop_elf *elf); /* NULL is allowed */

static inline void vmop_elf_cleanup(struct vmop_elf **elf)
{
	vmop_elf_destroy(*elf);
}

/* The first section of that type (SHT_NULL: any) and name (NULL: any); NULL: none. */
Elf_Scn *vmop_elf_find_section(const struct vmop_elf *elf, uint32_t type, const char *name,
			       GElf_Shdr *ret_header);

/* "" where the file is not to be believed. */
const char *vmop_elf_section_name(const struct vmop_elf *elf, const GElf_Shdr *header);

/*
 * What a section holds, in this machine's byte order; it stays the file's.  NULL: nothing, or more
 * than the file or VMOP_ELF_MAX_SECTION_BYTES, or packed (SHF_COMPRESSED).
 */
Elf_Data *vmop_elf_section_data(const struct vmop_elf *elf, Elf_Scn *section);

/* Where in the file an address lies.  false: in no segment, or in its .bss part. */
bool vmop_elf_offset_of_address(const struct vmop_elf *elf, uint64_t address, uint64_t *ret_offset,
				uint64_t *ret_left_bytes);

#endif
