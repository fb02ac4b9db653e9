// SPDX-License-Identifier: GPL-2.0-or-later
/* Places of a module's sections, and its relocations, with the modules of the fuzz corpus. */
#include "libsym/dwarf/module-place.h"

#include <string.h>
#include <unistd.h>

#include "libsym/dwarf/line-index.h"
#include "tests/unit/libsym/corpus-module.h"

static GElf_Shdr *section_of(struct module *module, const char *name)
{
	const GElf_Shdr *section = vmop_elf_find_section(module->elf, SHT_NULL, name);
	assert_non_null(section);
	return &module->elf->sections[section - module->elf->sections];
}

/* Place the module by hot and rare at these offsets. */
static void place(struct module *module, uint64_t hot, uint64_t rare)
{
	struct vmop_symbol *symbols = calloc(2, sizeof(*symbols));
	struct vmop_symtab *symtab;
	symbols[0] = (struct vmop_symbol){.offset = hot, .len_bytes = 4, .name = "hot"};
	symbols[1] = (struct vmop_symbol){.offset = rare, .len_bytes = 64, .name = "rare"};
	assert_null(vmop_symtab_adopt(symbols, 2, &symtab));
	assert_null(vmop_module_place(module->elf, symtab));
	vmop_symtab_destroy(symtab);
}

/* Return the offset of .text.unlikely when it follows .text. */
static uint64_t rare_of(struct module *module)
{
	uint64_t align = section_of(module, ".text.unlikely")->sh_addralign;
	return (section_of(module, ".text")->sh_size + align - 1) / align * align;
}

static uint32_t line_at(struct vmop_line_index *index, uint64_t offset)
{
	struct vmop_line line;
	assert_true(vmop_line_index_find(index, offset, &line));
	return line.number;
}

static void sections_follow_one_another(void **state)
{
	(void)state;
	struct module module;
	struct vmop_line_index *index;
	open_module(&module);
	uint64_t rare = rare_of(&module);
	place(&module, 0, rare);
	assert_true(module.elf->is_placed);
	assert_int_equal(section_of(&module, ".text")->sh_addr, VMOP_MODULE_START);
	assert_int_equal(section_of(&module, ".text.unlikely")->sh_addr, VMOP_MODULE_START + rare);
	assert_int_equal(section_of(&module, ".debug_info")->sh_addr, 0);
	assert_null(vmop_line_index_create(module.elf, module.elf, &index));
	assert_non_null(index);
	assert_int_equal(line_at(index, 0), 5);
	assert_int_equal(line_at(index, rare), 10);
	assert_int_equal(line_at(index, rare + 4096), 0);
	vmop_line_index_destroy(index);
	close_module(&module);
}

static void sections_elsewhere_are_not_placed(void **state)
{
	(void)state;
	struct module module;
	struct vmop_line_index *index;
	open_module(&module);
	uint64_t rare = rare_of(&module);
	place(&module, 0, rare - 1);
	assert_true(module.elf->is_placed);
	assert_int_equal(section_of(&module, ".text.unlikely")->sh_addr, 0);
	assert_null(vmop_line_index_create(module.elf, module.elf, &index));
	assert_int_equal(line_at(index, 0), 5);
	assert_int_equal(line_at(index, rare), 0);
	vmop_line_index_destroy(index);
	close_module(&module);

	open_module(&module);
	place(&module, 1, rare + 1);
	assert_false(module.elf->is_placed);
	assert_null(vmop_line_index_create(module.elf, module.elf, &index));
	assert_null(index);
	close_module(&module);
}

static void impossible_sections_are_not_placed(void **state)
{
	(void)state;
	static const uint64_t wrong[][2] = {{3, 8}, {1 << 20, 8}, {1, UINT64_MAX - 7}};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct module module;
		open_module(&module);
		section_of(&module, ".text.unlikely")->sh_addralign = wrong[i][0];
		section_of(&module, ".text.unlikely")->sh_size = wrong[i][1];
		assert_null(vmop_module_place(module.elf, NULL));
		assert_false(module.elf->is_placed);
		close_module(&module);
	}
}

/* Damage the first relocation of .debug_info, and expect an error. */
static void check_damaged(size_t at, uint64_t value)
{
	struct module module;
	struct vmop_line_index *index;
	open_module(&module);
	uint64_t offset = section_of(&module, ".rela.debug_info")->sh_offset;
	memcpy(module.bytes + offset + at, &value, sizeof(value));
	assert_null(vmop_module_place(module.elf, NULL));
	struct vmop_error *err = vmop_line_index_create(module.elf, module.elf, &index);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_CORRUPT);
	assert_non_null(strstr(err->message, "its relocations of .debug_info are damaged"));
	vmop_error_destroy(err);
	close_module(&module);
}

static void damaged_relocations_are_errors(void **state)
{
	(void)state;
	check_damaged(offsetof(Elf64_Rela, r_offset), UINT64_MAX - 2);
	check_damaged(offsetof(Elf64_Rela, r_offset), 1 << 20);
	check_damaged(offsetof(Elf64_Rela, r_info), ELF64_R_INFO(1, R_X86_64_PC32));
	check_damaged(offsetof(Elf64_Rela, r_info), ELF64_R_INFO(UINT32_MAX, R_X86_64_64));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sections_follow_one_another),
		cmocka_unit_test(sections_elsewhere_are_not_placed),
		cmocka_unit_test(impossible_sections_are_not_placed),
		cmocka_unit_test(damaged_relocations_are_errors),
	};
	if (access(MODULE, R_OK) < 0) {
		puts("skipped: needs the fuzz corpus of the source tree");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
