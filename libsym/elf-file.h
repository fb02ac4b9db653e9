// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An ELF file opened with suspicion.
 *
 * What is read may have been written by anybody who can run a program here, and
 * may be cut short or changed while it is read.  So: regular files only, read with pread(2) and
 * never mapped; each table is read once, after its size was held against the file's and against the
 * budget, and what counts is the copy.  libelf only translates: what it allocates and
 * keeps follows from the file.
 *
 * Inside libsym only.  One thread at a time for one file.
 */
#ifndef VMOP_LIBSYM_ELF_FILE_H
#define VMOP_LIBSYM_ELF_FILE_H

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libsym/budget.h"
#include "libutil/error.h"

#define VMOP_ELF_MAX_SECTIONS 65536
#define VMOP_ELF_MAX_SEGMENTS 4096

/* A PT_LOAD segment. */
struct vmop_elf_load {
	uint64_t address, offset;
	uint64_t len_bytes; /* as it is in the file */
};

struct vmop_elf {
	struct vmop_sym_budget *budget; /* pays for all that is read of the file */
	int fd;				/* -1: in memory */
	const char *image;
	const char *path;   /* for messages; the caller's */
	uint64_t len_bytes; /* of the file */
	GElf_Ehdr header;
	GElf_Shdr *sections; /* by index */
	size_t n_sections;   /* 0: none, or the table is not in the file */
	GElf_Phdr *segments;
	size_t n_segments;
	struct vmop_elf_load *loads; /* sorted by address */
	size_t n_loads;
	char *section_names;		/* NULL: none */
	size_t section_names_len_bytes; /* to the last NUL, which is within */
	uint64_t charged_bytes;		/* to the budget's memory, for the above */
};

/*
 * Opens path to be read, without waiting and without touching what is no regular file, which
 * is VMOP_ERROR_CANT.  root_fd is AT_FDCWD or a folder that
 * nothing in path leads out of ("..", absolute links), where the kernel has
 * openat2 (5.6).
 */
struct vmop_error *vmop_elf_open_path(int root_fd, const char *path, int *ret_fd);

/* fd stays the caller's, and open as long as *ret.  path and budget as well. */
struct vmop_error *vmop_elf_create(int fd, const char *path, struct vmop_sym_budget *budget,
				   struct vmop_elf **ret);

/* The same of an image in memory, which the caller keeps as long as *ret. */
struct vmop_error *vmop_elf_create_in_memory(const char *image, size_t len_bytes, const char *path,
					     struct vmop_sym_budget *budget, struct vmop_elf **ret);
void vmop_elf_destroy(struct vmop_elf *elf); /* NULL is allowed */

static inline void vmop_elf_cleanup(struct vmop_elf **elf)
{
	vmop_elf_destroy(*elf);
}

/* The first section of that type (SHT_NULL: any) and name (NULL: any); NULL: none. */
const GElf_Shdr *vmop_elf_find_section(const struct vmop_elf *elf, uint32_t type, const char *name);

/* "" where the file is not to be believed. */
const char *vmop_elf_section_name(const struct vmop_elf *elf, const GElf_Shdr *section);

/* Reads len_bytes at offset.  false: they are not all in the file. */
bool vmop_elf_read_at(const struct vmop_elf *elf, uint64_t offset, void *ret, size_t len_bytes);

/* What a section holds, as it is in the file.  The memory is the budget's until it is freed. */
struct vmop_elf_data {
	char *bytes;	  /* NULL: none */
	size_t len_bytes; /* a byte more is allocated, and 0 */
	struct vmop_sym_budget *budget;
};

/*
 * Empty, without an error: section is NULL, has nothing, reaches beyond the file, or is packed
 * (SHF_COMPRESSED).  More than the budget has is VMOP_ERROR_LIMIT.
 */
struct vmop_error *vmop_elf_data_read(const struct vmop_elf *elf, const GElf_Shdr *section,
				      struct vmop_elf_data *ret);
void vmop_elf_data_deinit(struct vmop_elf_data *data);

/*
 * A table of Elf_Sym, Elf_Rela or Elf_Word.  Unless it is loaded, a window on it is all that is in
 * memory, for entries that are asked for in ascending order.
 */
#define VMOP_ELF_WINDOW_BYTES 8192

struct vmop_elf_table {
	const struct vmop_elf *elf;
	Elf_Type type;
	uint64_t offset;      /* of the table in the file */
	size_t each_bytes;    /* of an entry in the file */
	size_t n;	      /* entries */
	const char *entries;  /* the window, or all that was loaded */
	size_t first, n_read; /* which are there */
	_Alignas(8) char window[VMOP_ELF_WINDOW_BYTES];
};

/* No entries where vmop_elf_data_read would give nothing. */
void vmop_elf_table_init(struct vmop_elf_table *table, const struct vmop_elf *elf,
			 const GElf_Shdr *section, Elf_Type type);

/* Reads the whole table into *ret, for entries that are asked for in any order; ret outlives table.
 */
struct vmop_error *vmop_elf_table_load(struct vmop_elf_table *table, struct vmop_elf_data *ret);

/*
 * The entry at index, which is below n, of a table of that type.  false: the file was cut short, or
 * the budget is spent (see its spent).
 */
bool vmop_elf_table_symbol(struct vmop_elf_table *table, size_t index, GElf_Sym *ret);
bool vmop_elf_table_relocation(struct vmop_elf_table *table, size_t index, GElf_Rela *ret);
bool vmop_elf_table_word(struct vmop_elf_table *table, size_t index, Elf32_Word *ret);

/* Where in the file an address lies.  false: in no segment, or in its .bss part. */
bool vmop_elf_offset_of_address(const struct vmop_elf *elf, uint64_t address, uint64_t *ret_offset,
				uint64_t *ret_left_bytes);

#endif
