// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Mini debug info: the functions of .symtab that .dynsym lacks, packed with xz in the section
 * .gnu_debugdata (gdb's manual, "MiniDebugInfo"). Inside libsym only.
 */
#ifndef VMOP_LIBSYM_ELF_MINI_DEBUG_INFO_H
#define VMOP_LIBSYM_ELF_MINI_DEBUG_INFO_H

#include "libsym/elf/elf-file.h"
#include "libsym/symtab-builder.h"

/*
 * Add its functions. Adds none if the section is missing or damaged, or the build has no liblzma.
 */
struct vmop_error *vmop_mini_debug_info_add(const struct vmop_elf_file *elf,
					    const struct vmop_elf_file *layout,
					    struct vmop_symtab_builder *builder);

#endif
