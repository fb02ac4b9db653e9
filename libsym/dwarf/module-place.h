// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where the code of a kernel module is in memory. A module's file is relocatable: its sections have
 * no addresses. The kernel puts those with code one after the other, in the order of the file.
 * Other versions of it may do otherwise, so each section is checked by the module's symbols. Inside
 * libsym only.
 */
#ifndef VMOP_LIBSYM_DWARF_MODULE_PLACE_H
#define VMOP_LIBSYM_DWARF_MODULE_PLACE_H

#include "libsym/elf/elf-file.h"
#include "libsym/symtab.h"

/* The address that stands for the module's first code. All that is not placed is at 0. */
#define VMOP_MODULE_START (UINT64_C(1) << 32)

/*
 * Set elf's is_placed, the addresses of its sections of code, and one load from the module's
 * offsets to addresses. symbols are those of the module in memory, or some of them. Only sections
 * with one of them at its place, and none elsewhere, get an address. Without such a section,
 * is_placed stays false. NULL: nothing is checked. The errors are VMOP_ERROR_LIMIT and
 * VMOP_ERROR_NO_MEMORY.
 */
struct vmop_error *vmop_module_place(struct vmop_elf_file *elf, const struct vmop_symtab *symbols);

/*
 * Apply the relocations of a section of debug information, whose content is in bytes. elf is
 * placed. VMOP_ERROR_CORRUPT: it has one that reaches beyond the section, or of a kind that debug
 * information does not have. VMOP_ERROR_LIMIT: the budget ran out.
 */
struct vmop_error *vmop_module_relocate(const struct vmop_elf_file *elf, const GElf_Shdr *section,
					char *bytes, uint64_t len_bytes);

#endif
