// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names for the stubs of the procedure linkage table, which no symbol table has:
 * "puts@plt", as objdump(1) shows them.  Inside libsym only.
 */
#ifndef VMOP_LIBSYM_PLT_H
#define VMOP_LIBSYM_PLT_H

#include "libsym/elf-file.h"
#include "libsym/symtab-builder.h"

/*
 * Adds a symbol for each stub that jumps through a slot of the GOT that a relocation
 * names (x86-64 and arm64), "*ABS*+0x...@plt" where that is an IRELATIVE one, and
 * "[plt]" for all else that is in .plt, .plt.sec, .plt.got and .iplt.
 * elf is the program itself, not its debug file.  File offsets.
 */
struct vmop_error *vmop_plt_add(const struct vmop_elf *elf, struct vmop_symtab_builder *builder);

#endif
