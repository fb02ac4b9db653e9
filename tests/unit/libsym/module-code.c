// SPDX-License-Identifier: GPL-2.0-or-later
/* Open fields in a module's code, with the modules of the fuzz corpus. */
#include "libsym/module-code.h"

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libsym/dwarf/module-place.h"

#define MODULE VMOP_TEST_SRCDIR "/fuzz/corpus/module/plain"

/* A copy of the module that a test can damage. */
struct module {
	char *bytes;
	size_t len_bytes;
	struct vmop_sym_budget budget;
	struct vmop_elf_file *elf;
	struct vmop_module_code *code;
};

static void open_module(struct module *module)
{
	FILE *file = fopen(MODULE, "r");
	*module = (struct module){.bytes = malloc(65536)};
	assert_non_null(file);
	module->len_bytes = fread(module->bytes, 1, 65536, file);
	fclose(file);
	vmop_sym_budget_init(&module->budget);
	assert_null(vmop_elf_create_in_memory(module->bytes, module->len_bytes, "module",
					      &module->budget, &module->elf));
	assert_null(vmop_module_place(module->elf, NULL));
	assert_true(module->elf->is_placed);
}

static void close_module(struct module *module)
{
	vmop_module_code_destroy(module->code);
	vmop_elf_destroy(module->elf);
	assert_int_equal(module->budget.memory_left_bytes, VMOP_SYM_BUDGET_MEMORY_BYTES);
	free(module->bytes);
}

/*
 * hot: 89 3d 0(s-4), e8 0(rare-4), c3; rare, in .text.unlikely: 01 3d 0(s-4), c3. s is data. The
 * comments of objdump -dr.
 */
static void fields_are_found(void **state)
{
	(void)state;
	struct module module;
	struct vmop_code_field field;
	open_module(&module);
	assert_null(vmop_module_code_create(module.elf, &module.code));
	const GElf_Shdr *unlikely = vmop_elf_find_section(module.elf, SHT_NULL, ".text.unlikely");
	uint64_t rare = unlikely->sh_addr - VMOP_MODULE_START;

	assert_true(vmop_module_code_field(module.code, 0, 6, &field));
	assert_int_equal(field.offset, 2);
	assert_int_equal(field.len_bytes, 4);
	assert_string_equal(field.name, "s");
	assert_int_equal(field.addend, -4);
	assert_true(field.is_distance && field.is_from_end && !field.is_inside);

	assert_true(vmop_module_code_field(module.code, 6, 11, &field));
	assert_int_equal(field.offset, 7);
	assert_true(field.is_inside);
	assert_int_equal(field.target, rare);
	assert_int_equal(field.addend, -4);

	assert_false(vmop_module_code_field(module.code, 3, 7, &field));
	assert_false(vmop_module_code_field(module.code, 8, rare, &field));
	assert_true(vmop_module_code_field(module.code, 8, UINT64_MAX, &field));
	assert_int_equal(field.offset, rare + 2);
	assert_false(vmop_module_code_field(module.code, rare + 3, UINT64_MAX, &field));
	close_module(&module);
}

/* Set 8 bytes of the first relocation of .text, and expect that only it is left out. */
static void check_damaged(size_t at, uint64_t value)
{
	struct module module;
	struct vmop_code_field field;
	open_module(&module);
	const GElf_Shdr *list = vmop_elf_find_section(module.elf, SHT_RELA, ".rela.text");
	assert_non_null(list);
	memcpy(module.bytes + list->sh_offset + at, &value, sizeof(value));
	assert_null(vmop_module_code_create(module.elf, &module.code));
	assert_true(vmop_module_code_field(module.code, 0, UINT64_MAX, &field));
	assert_int_equal(field.offset, 7);
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
	open_module(&module);
	module.budget.steps_left = 4;
	struct vmop_error *err = vmop_module_code_create(module.elf, &module.code);
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
