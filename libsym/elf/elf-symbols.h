// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions from the symbol tables of an ELF file. Inside libsym only. */
#ifndef VMOP_LIBSYM_ELF_ELF_SYMBOLS_H
#define VMOP_LIBSYM_ELF_ELF_SYMBOLS_H

#include <stddef.h>

#include "libsym/elf/elf-file.h"
#include "libsym/symtab-builder.h"

/*
 * Add the functions of elf's table of that type (SHT_SYMTAB or SHT_DYNSYM), if it exists. Their
 * offsets are file offsets in `layout`, whose segments are still as mapped: elf, or the program
 * whose debug file elf is. layout NULL: the offsets are addresses.
 *
 * Added are STT_FUNC and STT_GNU_IFUNC, and STT_NOTYPE in executable sections (functions and labels
 * of assembly). The mapping symbols of the ARM and RISC-V ABIs ($x, $d) and local labels (.L) are
 * left out. A version behind a name ("@@GLIBC_2.34") is cut off.
 */
struct vmop_error *vmop_elf_symbols_add(const struct vmop_elf_file *elf, uint32_t table_type,
					const struct vmop_elf_file *layout,
					struct vmop_symtab_builder *builder);

/* A longer string is not taken for a name. The longest real C++ names have some 10 KiB. */
#define VMOP_ELF_MAX_NAME_BYTES 65536

/* Return the length of a name of that many bytes without its version. */
size_t vmop_elf_name_len(const char *name, size_t with_version_bytes);

/*
 * Add the symbols that a stripped file still has: .dynsym, and the mini debug info that completes
 * it.
 */
struct vmop_error *vmop_elf_dynamic_symbols_add(const struct vmop_elf_file *elf,
						const struct vmop_elf_file *layout,
						struct vmop_symtab_builder *builder);

/* Do the same as vmop_symtab_read_elf(), within the caller's budget. */
struct vmop_error *vmop_elf_symtab_read(int fd, const char *path, unsigned flags,
					struct vmop_sym_budget *budget, struct vmop_symtab **ret);

#endif
