// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as an ELF file with DWARF: the inlined functions at offsets of it. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libsym/dwarf/inline-index.h"
#include "libsym/elf/elf-file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static void check(bool is_right)
{
	if (!is_right)
		abort();
}

static void look_up(struct vmop_inline_index *index, struct vmop_sym_budget *budget)
{
	const char *names[VMOP_INLINE_INDEX_MAX];
	size_t n;
	for (uint64_t offset = 0; offset < 0x4000; offset += 3) {
		if (!vmop_inline_index_find(index, offset, names, &n)) {
			check(budget->spent);
			return;
		}
		check(n <= VMOP_INLINE_INDEX_MAX);
		/* Names end, and so a sanitizer finds those that do not. */
		for (size_t i = 0; i < n; i++)
			check(strlen(names[i]) < ((size_t)1 << 30));
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	struct vmop_sym_budget budget;
	struct vmop_elf_file *elf;
	struct vmop_inline_index *index;
	vmop_sym_budget_init(&budget);
	uint64_t memory_bytes = budget.memory_left_bytes = 64 << 20;
	struct vmop_error *err =
		vmop_elf_create_in_memory((const char *)data, len_bytes, "fuzz", &budget, &elf);
	if (err) {
		vmop_error_destroy(err);
		return 0;
	}
	err = vmop_inline_index_create(elf, elf, &index);
	check(!err || !index);
	vmop_error_destroy(err);
	if (index)
		look_up(index, &budget);
	vmop_inline_index_destroy(index);
	vmop_elf_destroy(elf);
	/* All charged memory is returned. */
	check(budget.memory_left_bytes == memory_bytes);
	return 0;
}
