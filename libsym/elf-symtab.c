// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/symtab.h"

#include "libsym/elf-symbols.h"
#include "libsym/mini-debug-info.h"
#include "libsym/plt.h"
#include "libutil/cleanup.h"

struct vmop_error *vmop_elf_dynamic_symbols_add(const struct vmop_elf *elf,
						const struct vmop_elf *layout,
						struct vmop_symtab_builder *builder)
{
	struct vmop_error *err = vmop_elf_symbols_add(elf, SHT_DYNSYM, layout, builder);
	return err ? err : vmop_mini_debug_info_add(elf, layout, builder);
}

struct vmop_error *vmop_symtab_read_elf(int fd, const char *path, unsigned flags,
					struct vmop_symtab **ret)
{
	_cleanup_(vmop_elf_cleanup) struct vmop_elf *elf = NULL;
	_cleanup_(vmop_symtab_builder_deinit) struct vmop_symtab_builder builder = {0};
	struct vmop_error *err = vmop_elf_create(fd, path, &elf);
	if (err)
		return err;
	const struct vmop_elf *layout = flags & VMOP_SYMTAB_ADDRESSES ? NULL : elf;
	err = vmop_elf_symbols_add(elf, SHT_SYMTAB, layout, &builder);
	if (!err && builder.n == 0)
		err = vmop_elf_dynamic_symbols_add(elf, layout, &builder);
	if (!err && layout)
		err = vmop_plt_add(elf, &builder);
	if (err)
		return err;
	return vmop_symtab_builder_finish(&builder, ret);
}
