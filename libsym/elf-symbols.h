// SPDX-License-Identifier: GPL-2.0-or-later
/* The functions that the symbol tables of an ELF file name.  Inside libsym only. */
#ifndef VMOP_LIBSYM_ELF_SYMBOLS_H
#define VMOP_LIBSYM_ELF_SYMBOLS_H

#include "libsym/elf-file.h"
#include "libsym/symtab-builder.h"

/*
 * Adds the functions of elf's table of that type (SHT_SYMTAB or SHT_DYNSYM;
 * nothing where there is none).  Their offsets are those of the file layout, whose
 * segments are still as they are mapped: elf itself, or the program that elf
 * is the debug file of.  layout NULL: offsets are addresses.
 *
 * Taken are STT_FUNC and STT_GNU_IFUNC, and STT_NOTYPE in executable sections (functions and
 * labels of assembly) but for the mapping symbols of the ARM and RISC-V ABIs ($x,
 * $d) and local labels (.L).  A version behind a name ("@@GLIBC_2.34") is cut off.
 */
struct vmop_error *vmop_elf_symbols_add(const struct vmop_elf *elf, uint32_t table_type,
					const struct vmop_elf *layout,
					struct vmop_symtab_builder *builder);

/* What a stripped file has left: .dynsym, and the mini debug info that completes it. */
struct vmop_error *vmop_elf_dynamic_symbols_add(const struct vmop_elf *elf,
						const struct vmop_elf *layout,
						struct vmop_symtab_builder *builder);

/* As vmop_symtab_read_elf, within a budget that the caller has. */
struct vmop_error *vmop_elf_symtab_read(int fd, const char *path, unsigned flags,
					struct vmop_sym_budget *budget, struct vmop_symtab **ret);

#endif
