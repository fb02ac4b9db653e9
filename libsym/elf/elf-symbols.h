// SPDX-License-Identifier: GPL-2.0-or-later
/* Functions from the symbol tables of an ELF file. Inside libsym only. */
#ifndef VMOP_LIBSYM_ELF_ELF_SYMBOLS_H
#define VMOP_LIBSYM_ELF_ELF_SYMBOLS_H

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
