// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Tables of real programs against an independent reader of CFI, elfutils' libdw: for each
 * instruction range, both find the same rules. Prints how many ranges were compared.
 */
#include <cmocka.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <fcntl.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libstack/table-layout.h"
#include "libutil/clock.h"
#include "libutil/error.h"

/* Padding has the rule before it; libdw finds nothing there. */
enum { MAX_PADDING_BYTES = 16 };

struct image {
	const char *path;
	int fd;
	Elf *elf;
	Dwarf_CFI *cfi;
	struct vmop_cfi_table *table;
	int fp_column, ra_column;
	size_t n_ranges, n_expressions, n_kinds[VMOP_CFI_EXPRESSION + 1];
};

static void open_image(struct image *image, const char *path)
{
	const struct vmop_cfi_limits limits = {.max_bytes = (size_t)1 << 30,
					       .max_cpu_ns = 600 * VMOP_NS_PER_S};
	*image = (struct image){.path = path, .fd = open(path, O_RDONLY | O_CLOEXEC)};
	if (image->fd < 0) {
		print_message("there is no %s\n", path);
		skip();
	}
	elf_version(EV_CURRENT);
	image->elf = elf_begin(image->fd, ELF_C_READ_MMAP, NULL);
	assert_non_null(image->elf);
	image->cfi = dwarf_getcfi_elf(image->elf);
	assert_non_null(image->cfi);
	assert_null(vmop_cfi_table_build(image->fd, &limits, &image->table));
	bool is_arm64 = image->table->machine == EM_AARCH64;
	image->fp_column = is_arm64 ? 29 : 6;
	image->ra_column = is_arm64 ? 30 : 16;
}

static void close_image(struct image *image)
{
	vmop_cfi_table_destroy(image->table);
	dwarf_cfi_end(image->cfi);
	elf_end(image->elf);
	close(image->fd);
}

/* Return the executable segment that contains an offset of the file. */
static GElf_Phdr segment_of(const struct image *image, uint64_t offset)
{
	GElf_Phdr header = {0};
	for (int i = 0; gelf_getphdr(image->elf, i, &header); i++)
		if (header.p_type == PT_LOAD && (header.p_flags & PF_X) &&
		    offset >= header.p_offset && offset - header.p_offset < header.p_filesz)
			return header;
	return (GElf_Phdr){0};
}

static bool is_op(const Dwarf_Op *op, unsigned atom, uint64_t number)
{
	return op->atom == atom && op->number == number;
}

/* Read bregN or bregx. False: another operation. */
static bool read_register(const Dwarf_Op *op, unsigned *ret_register, int64_t *ret_offset)
{
	if (op->atom == DW_OP_bregx) {
		*ret_register = (unsigned)op->number;
		*ret_offset = (int64_t)op->number2;
		return true;
	}
	*ret_register = op->atom - DW_OP_breg0;
	*ret_offset = (int64_t)op->number;
	return op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg31;
}

static bool is_plt(const Dwarf_Op *ops, size_t n, int literal)
{
	return n == 9 && is_op(&ops[0], DW_OP_breg7, 8) && is_op(&ops[1], DW_OP_breg16, 0) &&
	       ops[2].atom == DW_OP_lit15 && ops[3].atom == DW_OP_and &&
	       ops[4].atom == DW_OP_lit0 + (unsigned)literal && ops[5].atom == DW_OP_ge &&
	       ops[6].atom == DW_OP_lit3 && ops[7].atom == DW_OP_shl && ops[8].atom == DW_OP_plus;
}

static bool is_cfa(const struct vmop_cfi_rule *rule, const Dwarf_Op *ops, size_t n)
{
	unsigned reg;
	int64_t offset;
	if (rule->kind == VMOP_CFI_PLT)
		return is_plt(ops, n, rule->cfa_offset);
	if (n == 0 || !read_register(&ops[0], &reg, &offset) || reg != rule->cfa_register)
		return false;
	size_t i = 1;
	if (i < n && ops[i].atom == DW_OP_deref) {
		i++;
		if (rule->kind != VMOP_CFI_DEREF || rule->cfa_offset != offset)
			return false;
		offset = 0;
	} else if (rule->kind != VMOP_CFI_REGISTER) {
		return false;
	}
	if (i < n && ops[i].atom == DW_OP_plus_uconst)
		offset += (int64_t)ops[i++].number;
	return i == n &&
	       offset == (rule->kind == VMOP_CFI_DEREF ? rule->cfa_addend : rule->cfa_offset);
}

static bool is_at_cfa(const Dwarf_Op *ops, size_t n, int64_t offset)
{
	return ops[0].atom == DW_OP_call_frame_cfa &&
	       (n == 1 ? offset == 0
		       : n == 2 && is_op(&ops[1], DW_OP_plus_uconst, (uint64_t)offset));
}

/* libdw puts the CFA first, with which the evaluation of such an expression begins. */
static bool is_at_fp(const struct image *image, const Dwarf_Op *ops, size_t n, int64_t *ret_offset)
{
	unsigned reg;
	return n == 2 && ops[0].atom == DW_OP_call_frame_cfa &&
	       read_register(&ops[1], &reg, ret_offset) && (int)reg == image->fp_column;
}

static bool is_saved(const struct image *image, Dwarf_Frame *frame, int column, int saved,
		     int64_t offset)
{
	Dwarf_Op mem[3], *ops;
	size_t n;
	int64_t found;
	if (dwarf_frame_register(frame, column, mem, &ops, &n) != 0)
		return false;
	switch (saved) {
	case VMOP_CFI_SAME:
		return n == 0 && !ops;
	case VMOP_CFI_LOST:
		return n == 0 && ops == mem;
	case VMOP_CFI_AT_CFA:
		return n > 0 && is_at_cfa(ops, n, offset);
	default:
		return is_at_fp(image, ops, n, &found) && found == offset;
	}
}

/* Whether a register has a rule that the table can store. */
static bool is_simple(const struct image *image, Dwarf_Frame *frame, int column)
{
	Dwarf_Op mem[3], *ops;
	size_t n;
	int64_t offset;
	if (dwarf_frame_register(frame, column, mem, &ops, &n) != 0)
		return false;
	return n == 0 || is_at_fp(image, ops, n, &offset) ||
	       is_at_cfa(ops, n, n == 2 ? (int64_t)ops[1].number : 0);
}

/* No other kind can express a row of kind EXPRESSION. */
static bool needs_expression(const struct image *image, Dwarf_Frame *frame, const Dwarf_Op *ops,
			     size_t n)
{
	unsigned reg;
	int64_t offset;
	bool is_simple_cfa = n > 0 && n <= 3 && read_register(&ops[0], &reg, &offset);
	return !is_simple_cfa || !is_simple(image, frame, image->fp_column) ||
	       !is_simple(image, frame, image->ra_column);
}

static bool agree(const struct image *image, const struct vmop_cfi_rule *rule, Dwarf_Frame *frame)
{
	Dwarf_Op *ops, mem[3];
	size_t n;
	bool is_signal;
	dwarf_frame_info(frame, NULL, NULL, &is_signal);
	if (is_signal || rule->kind == VMOP_CFI_SIGNAL)
		return is_signal && rule->kind == VMOP_CFI_SIGNAL;
	if (rule->kind == VMOP_CFI_END)
		return dwarf_frame_register(frame, image->ra_column, mem, &ops, &n) == 0 &&
		       n == 0 && ops == mem;
	if (dwarf_frame_cfa(frame, &ops, &n) != 0)
		return false;
	if (rule->kind == VMOP_CFI_EXPRESSION)
		return needs_expression(image, frame, ops, n);
	return is_cfa(rule, ops, n) &&
	       is_saved(image, frame, image->fp_column, rule->fp_saved, rule->fp_offset) &&
	       is_saved(image, frame, image->ra_column, rule->ra_saved, rule->ra_offset);
}

/* Check a byte for which libdw has nothing, or which has no rule: then both have none. */
static void check_gap(const struct vmop_cfi_rule *rule, bool has_frame, size_t n_before)
{
	assert_false(has_frame);
	if (rule->kind != VMOP_CFI_NONE)
		assert_in_range(n_before, 0, MAX_PADDING_BYTES - 1);
}

/* Compare a row, which holds at [from, to), with all of libdw's that it meets. */
static void compare_row(struct image *image, uint64_t from, uint64_t to,
			const struct vmop_cfi_rule *rule)
{
	size_t n_without = 0;
	while (from < to) {
		Dwarf_Frame *frame = NULL;
		Dwarf_Addr start = 0, end = 0;
		GElf_Phdr segment = segment_of(image, from);
		uint64_t bias = segment.p_vaddr - segment.p_offset;
		bool has_frame = segment.p_filesz &&
				 dwarf_cfi_addrframe(image->cfi, from + bias, &frame) == 0;
		if (rule->kind == VMOP_CFI_NONE || !has_frame) {
			check_gap(rule, has_frame, n_without++);
			from++;
			continue;
		}
		n_without = 0;
		assert_true(dwarf_frame_info(frame, &start, &end, NULL) >= 0);
		if (!agree(image, rule, frame))
			fail_msg("%s: the rules differ at %#llx", image->path,
				 (unsigned long long)(from + bias));
		free(frame);
		from = end - bias;
		image->n_ranges++;
		image->n_kinds[rule->kind]++;
	}
}

static void compare_image(const char *path)
{
	struct image image;
	open_image(&image, path);
	const struct vmop_cfi_table *table = image.table;
	uint64_t from = 0;
	const struct vmop_cfi_rule *rule = NULL;
	for (size_t block = 0; block < table->n_blocks; block++) {
		for (uint32_t row = table->blocks[block]; row < table->blocks[block + 1]; row++) {
			uint32_t number = vmop_cfi_table_row(table, row);
			uint64_t to = (table->first_block + block) << VMOP_CFI_BLOCK_BITS |
				      number >> table->rule_bits;
			if (rule)
				compare_row(&image, from, to, rule);
			from = to;
			rule = &table->rules[number & ((1U << table->rule_bits) - 1)];
		}
	}
	print_message("%s: %zu rows, %zu of them with expressions, agree with libdw in %zu ranges "
		      "(PLT %zu, memory %zu, signal %zu, end %zu)\n",
		      path, table->n_rows, table->n_expression_rows, image.n_ranges,
		      image.n_kinds[VMOP_CFI_PLT], image.n_kinds[VMOP_CFI_DEREF],
		      image.n_kinds[VMOP_CFI_SIGNAL], image.n_kinds[VMOP_CFI_END]);
	assert_true(image.n_ranges >= table->n_rows / 2);
	close_image(&image);
}

static void the_c_library_agrees(void **state)
{
	(void)state;
	compare_image("/lib/x86_64-linux-gnu/libc.so.6");
}

static void the_dynamic_linker_agrees(void **state)
{
	(void)state;
	compare_image("/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2");
}

static void openssl_agrees(void **state)
{
	(void)state;
	compare_image("/lib/x86_64-linux-gnu/libcrypto.so.3");
}

static void a_static_program_agrees(void **state)
{
	(void)state;
	compare_image(VMOP_TEST_BUILDDIR "/tests/unit/libstack/target-static");
}

static void this_program_agrees(void **state)
{
	(void)state;
	compare_image("/proc/self/exe");
}

static void arm64_agrees(void **state)
{
	(void)state;
	compare_image("/usr/aarch64-linux-gnu/lib/libc.so.6");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(this_program_agrees),	     cmocka_unit_test(the_c_library_agrees),
		cmocka_unit_test(the_dynamic_linker_agrees), cmocka_unit_test(openssl_agrees),
		cmocka_unit_test(a_static_program_agrees),   cmocka_unit_test(arm64_agrees),
	};
	/* By hand: compare other files. */
	for (int i = 1; i < argc; i++)
		compare_image(argv[i]);
	return argc > 1 ? 0 : cmocka_run_group_tests(tests, NULL, NULL);
}
