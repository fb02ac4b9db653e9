// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables of real files in the kernel's form have the same rules as libstack's, at every offset. */
#include "daemon/stack/flat-table.h"

#include <cmocka.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "tests/unit/ok.h"

static struct vmop_cfi_table *build(const char *path)
{
	const struct vmop_cfi_limits limits = {.max_bytes = (size_t)1 << 30,
					       .max_cpu_ns = 60000000000ull};
	struct vmop_cfi_table *table;
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_ok(vmop_cfi_table_build(fd, &limits, &table));
	return table;
}

/* Return the rule at offset, as the contract of struct vmop_unwind_table defines it. */
static struct vmop_unwind_rule find(const struct vmop_unwind_table *table, uint64_t offset)
{
	uint64_t block = (offset >> VMOP_UNWIND_BLOCK_BITS) - table->first_block;
	struct vmop_unwind_rule none = {.kind = VMOP_UNWIND_COPY};
	if (block >= table->n_blocks)
		return none;
	uint32_t low = offset & ((1 << VMOP_UNWIND_BLOCK_BITS) - 1);
	size_t row = table->blocks[block];
	while (row < table->blocks[block + 1] && table->rows[row] >> VMOP_UNWIND_RULE_BITS <= low)
		row++;
	if (!row)
		return none;
	uint32_t rule = table->rows[row - 1] & ((1u << VMOP_UNWIND_RULE_BITS) - 1);
	assert_true(rule < table->n_rules);
	return table->rules[rule];
}

static void assert_same(const struct vmop_unwind_rule *flat, const struct vmop_cfi_rule *rule)
{
	if (rule->kind == VMOP_CFI_NONE || rule->kind == VMOP_CFI_EXPRESSION) {
		assert_int_equal(flat->kind, VMOP_UNWIND_COPY);
		return;
	}
	assert_int_equal(flat->kind, rule->kind);
	assert_int_equal(flat->cfa_register, rule->cfa_register);
	assert_int_equal(flat->cfa_offset, rule->cfa_offset);
	assert_int_equal(flat->cfa_addend, rule->cfa_addend);
	assert_int_equal(flat->fp_saved, rule->fp_saved);
	assert_int_equal(flat->fp_offset, rule->fp_offset);
	assert_int_equal(flat->ra_saved, rule->ra_saved);
	assert_int_equal(flat->ra_offset, rule->ra_offset);
	assert_int_equal(flat->ra_is_signed, rule->ra_is_signed);
}

static void compare(const char *path)
{
	struct vmop_cfi_table *table = build(path);
	struct vmop_cfi_content content;
	struct vmop_flat_table flat;
	size_t n_entry = 0, n_kinds[VMOP_UNWIND_END + 1] = {0};
	vmop_cfi_table_content(table, &content);
	assert_ok(vmop_flat_table_init(&flat, table));
	assert_int_equal(flat.content.blocks[flat.content.n_blocks], flat.content.n_rows);
	for (uint64_t block = 0; block < content.n_blocks + 2; block++) {
		uint64_t start = (content.first_block + block - 1) << VMOP_UNWIND_BLOCK_BITS;
		for (uint64_t i = 0; i < 1 << VMOP_UNWIND_BLOCK_BITS; i++) {
			struct vmop_cfi_rule rule;
			struct vmop_unwind_rule got = find(&flat.content, start + i);
			n_kinds[got.kind]++;
			if (vmop_cfi_table_is_entry(table, start + i)) {
				assert_int_equal(got.kind, VMOP_UNWIND_END);
				n_entry++;
				continue;
			}
			vmop_cfi_table_find(table, start + i, &rule);
			/* Behind the last row nothing is known. */
			if (block == content.n_blocks + 1)
				continue;
			assert_same(&got, &rule);
		}
	}
	printf("%s: %zu rows, %zu bytes of the entry point, %zu without a rule\n", path,
	       flat.content.n_rows, n_entry, n_kinds[VMOP_UNWIND_COPY]);
	assert_true(n_kinds[VMOP_UNWIND_REGISTER] > 0);
	vmop_flat_table_deinit(&flat);
	vmop_cfi_table_destroy(table);
}

/* Return the path of the file that contains address. */
static const char *path_of(const void *address)
{
	Dl_info info;
	assert_true(dladdr(address, &info) && *info.dli_fname == '/');
	return info.dli_fname;
}

static void real_files_are_the_same_in_both_forms(void **state)
{
	(void)state;
	compare("/proc/self/exe");
	compare(path_of((void *)(uintptr_t)printf));
	/* ld.so: its _start has no CFI. */
	/* NOLINTNEXTLINE(performance-no-int-to-ptr): the kernel gives it as a number */
	compare(path_of((void *)(uintptr_t)getauxval(AT_BASE)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(real_files_are_the_same_in_both_forms),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
