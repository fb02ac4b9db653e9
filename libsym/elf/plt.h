// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names for the stubs of the procedure linkage table, which no symbol table contains: "puts@plt",
 * as objdump(1) shows them. Inside libsym only.
 */
#ifndef VMOP_LIBSYM_ELF_PLT_H
#define VMOP_LIBSYM_ELF_PLT_H

#include "libsym/elf/elf-file.h"
#include "libsym/symtab-builder.h"

/*
 * Add a symbol for each stub in .plt, .plt.sec, .plt.got and .iplt (x86-64 and arm64). The name is
 * "NAME@plt" if a relocation names the GOT slot that the stub jumps through, "*ABS*+0x...@plt" if
 * that relocation is IRELATIVE, and "[plt]" for all other code there. elf must be the program, not
 * its debug file. Offsets are file offsets.
 */
struct vmop_error *vmop_plt_add(const struct vmop_elf_file *elf,
				struct vmop_symtab_builder *builder);

#endif
