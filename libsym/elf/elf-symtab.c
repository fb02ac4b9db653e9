// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/symtab.h"

#include "libsym/elf/elf-symbols.h"
#include "libsym/elf/mini-debug-info.h"
#include "libsym/elf/plt.h"
#include "libutil/cleanup.h"

struct vmop_error *vmop_elf_dynamic_symbols_add(const struct vmop_elf_file *elf,
						const struct vmop_elf_file *layout,
						struct vmop_symtab_builder *builder)
{
	struct vmop_error *err = vmop_elf_symbols_add(elf, SHT_DYNSYM, layout, builder);
	return err ? err : vmop_mini_debug_info_add(elf, layout, builder);
}

static struct vmop_error *add_all(int fd, const char *path, unsigned flags,
				  struct vmop_symtab_builder *builder)
{
	_cleanup_(vmop_elf_cleanup) struct vmop_elf_file *elf = NULL;
	struct vmop_error *err = vmop_elf_create(fd, path, builder->budget, &elf);
	if (err)
		return err;
	const struct vmop_elf_file *layout = flags & VMOP_SYMTAB_ADDRESSES ? NULL : elf;
	err = vmop_elf_symbols_add(elf, SHT_SYMTAB, layout, builder);
	if (!err && builder->n == 0)
		err = vmop_elf_dynamic_symbols_add(elf, layout, builder);
	if (!err && layout)
		err = vmop_plt_add(elf, builder);
	return err;
}

struct vmop_error *vmop_elf_symtab_read(int fd, const char *path, unsigned flags,
					struct vmop_sym_budget *budget, struct vmop_symtab **ret)
{
	_cleanup_(vmop_symtab_builder_deinit) struct vmop_symtab_builder builder = {
		.budget = budget,
	};
	struct vmop_error *err = add_all(fd, path, flags, &builder);
	return err ? err : vmop_symtab_builder_finish(&builder, path, ret);
}

struct vmop_error *vmop_symtab_read_elf(int fd, const char *path, unsigned flags,
					struct vmop_symtab **ret)
{
	struct vmop_sym_budget budget;
	vmop_sym_budget_init(&budget);
	return vmop_elf_symtab_read(fd, path, flags, &budget, ret);
}
