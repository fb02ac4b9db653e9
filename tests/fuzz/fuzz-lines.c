// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as an ELF file with DWARF, or as a module: lines at offsets of it, and open fields. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libsym/dwarf/line-index.h"
#include "libsym/dwarf/module-place.h"
#include "libsym/elf/elf-file.h"
#include "libsym/module-code.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static void check(bool is_right)
{
	if (!is_right)
		abort();
}

static void look_up(struct vmop_line_index *index, struct vmop_sym_budget *budget)
{
	struct vmop_line line;
	for (uint64_t offset = 0; offset < 0x4000; offset += 3) {
		if (!vmop_line_index_find(index, offset, &line)) {
			check(budget->spent);
			return;
		}
		/* Names end, and so a sanitizer finds those that do not. */
		if (line.path)
			check(strlen(line.path) + strlen(line.folder) < ((size_t)1 << 30));
	}
}

/* Place the sections of a module by the symbols of the corpus's modules, then without any. */
static struct vmop_error *place(struct vmop_elf_file *elf)
{
	struct vmop_symbol *symbols = calloc(2, sizeof(*symbols));
	struct vmop_symtab *symtab;
	check(symbols != NULL);
	symbols[0] = (struct vmop_symbol){.offset = 0, .len_bytes = 8, .name = "hot"};
	symbols[1] = (struct vmop_symbol){.offset = 12, .len_bytes = 7, .name = "rare"};
	struct vmop_error *err = vmop_symtab_adopt(symbols, 2, &symtab);
	check(!err);
	err = vmop_module_place(elf, symtab);
	vmop_symtab_destroy(symtab);
	return err ? err : vmop_module_place(elf, NULL);
}

/* Read all open fields of a module's code, in their order. */
static void read_fields(const struct vmop_elf_file *elf)
{
	struct vmop_module_code *code;
	struct vmop_code_field field;
	struct vmop_error *err = vmop_module_code_create(elf, &code);
	if (err) {
		check(err->code == VMOP_ERROR_LIMIT);
		vmop_error_destroy(err);
		return;
	}
	uint64_t at = 0;
	for (; vmop_module_code_field(code, at, UINT64_MAX, &field); at = field.offset + 1)
		check(field.offset >= at && field.len_bytes <= 8 &&
		      strlen(field.name) < ((size_t)1 << 30));
	vmop_module_code_destroy(code);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct vmop_sym_budget budget;
	struct vmop_elf_file *elf;
	struct vmop_line_index *index;
	vmop_sym_budget_init(&budget);
	uint64_t memory_bytes = budget.memory_left_bytes = 64 << 20;
	struct vmop_error *err =
		vmop_elf_create_in_memory((const char *)data, len_bytes, "fuzz", &budget, &elf);
	if (err) {
		vmop_error_destroy(err);
		return 0;
	}
	index = NULL;
	err = place(elf);
	if (!err)
		read_fields(elf);
	if (!err)
		err = vmop_line_index_create(elf, elf, &index);
	check(!err || !index);
	vmop_error_destroy(err);
	if (index)
		look_up(index, &budget);
	vmop_line_index_destroy(index);
	vmop_elf_destroy(elf);
	/* All charged memory is returned. */
	check(budget.memory_left_bytes == memory_bytes);
	return 0;
}
