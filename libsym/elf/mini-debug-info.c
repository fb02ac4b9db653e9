// SPDX-License-Identifier: GPL-2.0-or-later
#include "libsym/elf/mini-debug-info.h"

#include "libsym/elf/elf-symbols.h"
#include "libsym/elf/unpack.h"
#include "libutil/cleanup.h"

static struct vmop_error *add_unpacked(const struct vmop_elf_file *elf,
				       const struct vmop_unpacked *unpacked,
				       const struct vmop_elf_file *layout,
				       struct vmop_symtab_builder *builder)
{
	_cleanup_(vmop_elf_cleanup) struct vmop_elf_file *mini = NULL;
	if (unpacked->len_bytes == 0)
		return NULL;
	struct vmop_error *err = vmop_elf_create_in_memory(unpacked->bytes, unpacked->len_bytes,
							   elf->path, elf->budget, &mini);
	if (err && err->code == VMOP_ERROR_CORRUPT) {
		/* Missing and damaged sections have the same result: only .dynsym is used. */
		vmop_error_destroy(err);
		return NULL;
	}
	return err ? err : vmop_elf_symbols_add(mini, SHT_SYMTAB, layout, builder);
}

struct vmop_error *vmop_mini_debug_info_add(const struct vmop_elf_file *elf,
					    const struct vmop_elf_file *layout,
					    struct vmop_symtab_builder *builder)
{
	_cleanup_(vmop_elf_data_deinit) struct vmop_elf_data packed;
	_cleanup_(vmop_unpacked_deinit) struct vmop_unpacked unpacked = {0};
	struct vmop_error *err = vmop_elf_data_read(
		elf, vmop_elf_find_section(elf, SHT_PROGBITS, ".gnu_debugdata"), &packed);

	if (err || !packed.bytes)
		return err;
	err = vmop_unpack(packed.bytes, packed.len_bytes, elf->path, elf->budget, &unpacked);
	return err ? err : add_unpacked(elf, &unpacked, layout, builder);
}
