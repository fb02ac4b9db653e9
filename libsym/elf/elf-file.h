// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ELF files, read as hostile input.
 *
 * Any local user may have written the file, and it may be truncated or changed while it is read.
 * Therefore only regular files are accepted, and they are read with pread(2), never mapped. Each
 * table is read once, after its size was checked against the file and the budget; only this copy is
 * used afterwards. libelf only converts bytes, because the file decides how much libelf would
 * allocate.
 *
 * Inside libsym only. One thread at a time for one file.
 */
#ifndef VMOP_LIBSYM_ELF_ELF_FILE_H
#define VMOP_LIBSYM_ELF_ELF_FILE_H

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
	uint64_t len_bytes; /* length in the file */
};

struct vmop_elf_file {
	struct vmop_sym_budget *budget; /* pays for every read of the file */
	int fd;				/* -1: the file is in memory */
	const char *image;
	const char *path;   /* for messages; the caller owns it */
	uint64_t len_bytes; /* size of the file */
	GElf_Ehdr header;
	GElf_Shdr *sections; /* n_sections headers, by section index */
	size_t n_sections;   /* 0: none, or the table is outside the file */
	GElf_Phdr *segments;
	size_t n_segments;
	struct vmop_elf_load *loads; /* sorted by address */
	size_t n_loads;
	char *section_names;		/* the section name table; NULL: none */
	size_t section_names_len_bytes; /* up to the last NUL, inclusive */
	bool is_placed;			/* a module: see libsym/dwarf/module-place.h */
	uint64_t charged_bytes;		/* memory charged to the budget for the tables above */
};

/*
 * Open path for reading. The call never waits, and never opens anything but a regular file, which
 * is VMOP_ERROR_CANT. root_fd is AT_FDCWD, or a directory that path cannot leave ("..", absolute
 * links) if the kernel has openat2 (5.6).
 */
struct vmop_error *vmop_elf_open_path(int root_fd, const char *path, int *ret_fd);

/*
 * Read the headers of the file at fd. The caller owns fd, path and budget, which must outlive *ret.
 */
struct vmop_error *vmop_elf_create(int fd, const char *path, struct vmop_sym_budget *budget,
				   struct vmop_elf_file **ret);

/* Do the same for a file in memory, which the caller keeps until *ret is destroyed. */
struct vmop_error *vmop_elf_create_in_memory(const char *image, size_t len_bytes, const char *path,
					     struct vmop_sym_budget *budget,
					     struct vmop_elf_file **ret);
void vmop_elf_destroy(struct vmop_elf_file *elf); /* NULL is allowed */

static inline void vmop_elf_cleanup(struct vmop_elf_file **elf)
{
	vmop_elf_destroy(*elf);
}

/* Return the first section of this type (SHT_NULL: any) and name (NULL: any), or NULL. */
const GElf_Shdr *vmop_elf_find_section(const struct vmop_elf_file *elf, uint32_t type,
				       const char *name);

/* Return the name of section, or "" if the file gives no valid one. */
const char *vmop_elf_section_name(const struct vmop_elf_file *elf, const GElf_Shdr *section);

/* Read len_bytes at offset. Return false if the file does not contain all of them. */
bool vmop_elf_read_at(const struct vmop_elf_file *elf, uint64_t offset, void *ret,
		      size_t len_bytes);

/*
 * The content of a section as stored in the file. Its memory is charged to the budget until it is
 * freed.
 */
struct vmop_elf_data {
	char *bytes;	   /* NULL: none */
	size_t len_bytes;  /* without the NUL that is appended */
	size_t room_bytes; /* of memory behind them, with the NUL */
	struct vmop_sym_budget *budget;
};

/*
 * Read a section. *ret is empty, without an error, if section is NULL, has no content, reaches
 * beyond the file, or is compressed (SHF_COMPRESSED). VMOP_ERROR_LIMIT if the budget has too little
 * left.
 */
struct vmop_error *vmop_elf_data_read(const struct vmop_elf_file *elf, const GElf_Shdr *section,
				      struct vmop_elf_data *ret);

/* Do the same with room_bytes of memory behind the content, which are also charged. */
struct vmop_error *vmop_elf_data_read_roomy(const struct vmop_elf_file *elf,
					    const GElf_Shdr *section, size_t room_bytes,
					    struct vmop_elf_data *ret);
void vmop_elf_data_deinit(struct vmop_elf_data *data);

/*
 * A table of Elf_Sym, Elf_Rela or Elf_Word. Memory contains only a window on it, for access in
 * ascending order, unless the table is loaded.
 */
#define VMOP_ELF_WINDOW_BYTES 8192

struct vmop_elf_table {
	const struct vmop_elf_file *elf;
	Elf_Type type;
	uint64_t offset;      /* of the table in the file */
	size_t each_bytes;    /* of an entry in the file */
	size_t n;	      /* entries */
	const char *entries;  /* the window, or the whole table if loaded */
	size_t first, n_read; /* the entries that `entries` contains */
	_Alignas(8) char window[VMOP_ELF_WINDOW_BYTES];
};

/* Begin to read a table. It has no entries if vmop_elf_data_read() would give no content. */
void vmop_elf_table_init(struct vmop_elf_table *table, const struct vmop_elf_file *elf,
			 const GElf_Shdr *section, Elf_Type type);

/* Read the whole table into *ret, for access in any order. *ret must outlive table. */
struct vmop_error *vmop_elf_table_load(struct vmop_elf_table *table, struct vmop_elf_data *ret);

/*
 * Read the entry at index, which must be less than n, of a table of that type. Return false if the
 * file was truncated or the budget ran out (see its `spent`).
 */
bool vmop_elf_table_symbol(struct vmop_elf_table *table, size_t index, GElf_Sym *ret);
bool vmop_elf_table_relocation(struct vmop_elf_table *table, size_t index, GElf_Rela *ret);
bool vmop_elf_table_word(struct vmop_elf_table *table, size_t index, Elf32_Word *ret);

/*
 * Return the symbol at index as the file has it, in this machine's byte order, if it is in memory,
 * or NULL. Both classes begin it with st_name.
 */
static inline const void *vmop_elf_table_peek(const struct vmop_elf_table *table, size_t index)
{
	bool is_read = index >= table->first && index - table->first < table->n_read;
	return is_read ? table->entries + (index - table->first) * table->each_bytes : NULL;
}

/*
 * Convert an address to a file offset. Return false if no segment contains it, or only its .bss
 * part does.
 */
bool vmop_elf_offset_of_address(const struct vmop_elf_file *elf, uint64_t address,
				uint64_t *ret_offset, uint64_t *ret_left_bytes);

#endif
