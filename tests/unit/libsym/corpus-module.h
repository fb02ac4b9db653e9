// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A module of the fuzz corpus, for tests. Its code, as objdump -dr shows it:
 *   .text            hot:   89 3d 0 (s-4), e8 0 (rare-4), c3
 *   .text.unlikely   rare:  01 3d 0 (s-4), c3
 * s is data.
 */
#ifndef VMOP_TESTS_UNIT_LIBSYM_CORPUS_MODULE_H
#define VMOP_TESTS_UNIT_LIBSYM_CORPUS_MODULE_H

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

#include "libsym/elf/elf-file.h"

#define MODULE VMOP_TEST_SRCDIR "/fuzz/corpus/module/plain"

/* A copy of the module that a test can damage, and the ELF file that was read from it. */
struct module {
	char *bytes;
	size_t len_bytes;
	struct vmop_sym_budget budget;
	struct vmop_elf_file *elf;
};

static inline void open_module(struct module *module)
{
	FILE *file = fopen(MODULE, "r");
	*module = (struct module){.bytes = malloc(65536)};
	assert_non_null(file);
	module->len_bytes = fread(module->bytes, 1, 65536, file);
	fclose(file);
	vmop_sym_budget_init(&module->budget);
	assert_null(vmop_elf_create_in_memory(module->bytes, module->len_bytes, "module",
					      &module->budget, &module->elf));
}

/* Close the module, and check that no memory stays charged. */
static inline void close_module(struct module *module)
{
	vmop_elf_destroy(module->elf);
	assert_int_equal(module->budget.memory_left_bytes, VMOP_SYM_BUDGET_MEMORY_BYTES);
	free(module->bytes);
}

#endif
