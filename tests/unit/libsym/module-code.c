// SPDX-License-Identifier: GPL-2.0-or-later
/* Open fields in a module's code, with the modules of the fuzz corpus. */
#include "libsym/module-code.h"

#include <string.h>
#include <unistd.h>

#include "libsym/dwarf/module-place.h"
#include "tests/unit/libsym/corpus-module.h"

/* Open the module, with places for its code. */
static void open_placed(struct module *module)
{
	open_module(module);
	assert_null(vmop_module_place(module->elf, NULL));
	assert_true(module->elf->is_placed);
}

static void fields_are_found(void **state)
{
	(void)state;
	struct module module;
	struct vmop_code_field field;
	struct vmop_module_code *code;
	open_placed(&module);
	assert_null(vmop_module_code_create(module.elf, &code));
	const GElf_Shdr *unlikely = vmop_elf_find_section(module.elf, SHT_NULL, ".text.unlikely");
	uint64_t rare = unlikely->sh_addr - VMOP_MODULE_START;

	assert_true(vmop_module_code_field(code, 0, 6, &field));
	assert_int_equal(field.offset, 2);
	assert_int_equal(field.len_bytes, 4);
	assert_string_equal(field.name, "s");
	assert_int_equal(field.addend, -4);
	assert_true(field.is_distance && field.is_from_end && !field.is_inside);

	assert_true(vmop_module_code_field(code, 6, 11, &field));
	assert_int_equal(field.offset, 7);
	assert_true(field.is_inside);
	assert_int_equal(field.target, rare);
	assert_int_equal(field.addend, -4);

	assert_false(vmop_module_code_field(code, 3, 7, &field));
	assert_false(vmop_module_code_field(code, 8, rare, &field));
	assert_true(vmop_module_code_field(code, 8, UINT64_MAX, &field));
	assert_int_equal(field.offset, rare + 2);
	assert_false(vmop_module_code_field(code, rare + 3, UINT64_MAX, &field));
	vmop_module_code_destroy(code);
	close_module(&module);
}

/* Set 8 bytes of the first relocation of .text, and expect that only it is left out. */
static void check_damaged(size_t at, uint64_t value)
{
	struct module module;
	struct vmop_code_field field;
	struct vmop_module_code *code;
	open_placed(&module);
	const GElf_Shdr *list = vmop_elf_find_section(module.elf, SHT_RELA, ".rela.text");
	assert_non_null(list);
	memcpy(module.bytes + list->sh_offset + at, &value, sizeof(value));
	assert_null(vmop_module_code_create(module.elf, &code));
	assert_true(vmop_module_code_field(code, 0, UINT64_MAX, &field));
	assert_int_equal(field.offset, 7);
	vmop_module_code_destroy(code);
	close_module(&module);
}

static void damaged_relocations_are_left_out(void **state)
{
	(void)state;
	check_damaged(offsetof(Elf64_Rela, r_offset), UINT64_MAX - 1);
	check_damaged(offsetof(Elf64_Rela, r_offset), 9 + 1000);
	check_damaged(offsetof(Elf64_Rela, r_info), ELF64_R_INFO(UINT32_MAX, R_X86_64_PC32));
	check_damaged(offsetof(Elf64_Rela, r_info), ELF64_R_INFO(1, R_X86_64_NONE));
}

static void the_budget_ends_the_work(void **state)
{
	(void)state;
	struct module module;
	struct vmop_module_code *code;
	open_placed(&module);
	module.budget.steps_left = 4;
	struct vmop_error *err = vmop_module_code_create(module.elf, &code);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_LIMIT);
	vmop_error_destroy(err);
	close_module(&module);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_found),
		cmocka_unit_test(damaged_relocations_are_left_out),
		cmocka_unit_test(the_budget_ends_the_work),
	};
	if (access(MODULE, R_OK) < 0) {
		puts("skipped: needs the fuzz corpus of the source tree");
		return 77;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
