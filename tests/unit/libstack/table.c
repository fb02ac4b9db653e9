// SPDX-License-Identifier: GPL-2.0-or-later
/* Tables of hand-made images, and bounds. tests/unit/libstack/agreement.c reads real programs. */
#include <cmocka.h>
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libstack/table.h"
#include "libutil/clock.h"
#include "libutil/error.h"
#include "tests/unit/libstack/synthetic.h"

static const struct vmop_cfi_limits ample = {.max_bytes = (size_t)1 << 30,
					     .max_cpu_ns = 60 * VMOP_NS_PER_S};

static struct vmop_cfi_table *make(const struct synthetic_image *image)
{
	struct vmop_cfi_table *table = NULL;
	assert_null(synthetic_table(image, &table));
	return table;
}

static struct vmop_cfi_rule rule_at(const struct vmop_cfi_table *table, uint64_t offset)
{
	struct vmop_cfi_rule rule;
	vmop_cfi_table_find(table, offset, &rule);
	return rule;
}

/* Check that CFA = rsp + cfa_offset, with the return address below it. */
static void assert_rsp(const struct vmop_cfi_table *table, uint64_t offset, int cfa_offset)
{
	struct vmop_cfi_rule rule = rule_at(table, offset);
	assert_int_equal(rule.kind, VMOP_CFI_REGISTER);
	assert_int_equal(rule.cfa_register, 7);
	assert_int_equal(rule.cfa_offset, cfa_offset);
	assert_int_equal(rule.ra_saved, VMOP_CFI_AT_CFA);
	assert_int_equal(rule.ra_offset, -8);
}

static void assert_kind(const struct vmop_cfi_table *table, uint64_t offset, int kind)
{
	assert_int_equal(rule_at(table, offset).kind, kind);
}

/* Return the table of one function of 64 bytes at SYNTHETIC_TEXT with a program. */
static struct vmop_cfi_table *table_of_program(uint16_t machine, const void *program, size_t n)
{
	struct synthetic_cfi cfi = {0};
	synthetic_usual_cie(&cfi, machine);
	synthetic_fde(&cfi, SYNTHETIC_TEXT, 64, program, n);
	struct vmop_cfi_table *table =
		make(&(struct synthetic_image){.machine = machine, .eh_frame = &cfi});
	synthetic_deinit(&cfi);
	return table;
}

#define TABLE(machine, ...)                                                                        \
	({                                                                                         \
		static const uint8_t program_[] = {__VA_ARGS__};                                   \
		table_of_program(machine, program_, sizeof(program_));                             \
	})

static void rows_follow_a_prologue(void **state)
{
	(void)state;
	/* push rbp; mov rbp, rsp; ...; pop rbp */
	struct vmop_cfi_table *table = TABLE(EM_X86_64, 0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6,
					     0x02, 20, 0x0c, 7, 8, 0xc6);
	assert_rsp(table, SYNTHETIC_TEXT, 8);
	assert_int_equal(rule_at(table, SYNTHETIC_TEXT).fp_saved, VMOP_CFI_SAME);
	assert_rsp(table, SYNTHETIC_TEXT + 1, 16);
	assert_rsp(table, SYNTHETIC_TEXT + 3, 16);
	struct vmop_cfi_rule body = rule_at(table, SYNTHETIC_TEXT + 4);
	assert_int_equal(body.kind, VMOP_CFI_REGISTER);
	assert_int_equal(body.cfa_register, 6);
	assert_int_equal(body.cfa_offset, 16);
	assert_int_equal(body.fp_saved, VMOP_CFI_AT_CFA);
	assert_int_equal(body.fp_offset, -16);
	assert_rsp(table, SYNTHETIC_TEXT + 24, 8);
	assert_int_equal(rule_at(table, SYNTHETIC_TEXT + 24).fp_saved, VMOP_CFI_SAME);
	assert_rsp(table, SYNTHETIC_TEXT + 63, 8);
	assert_kind(table, SYNTHETIC_TEXT + 64, VMOP_CFI_NONE);
	assert_kind(table, SYNTHETIC_TEXT - 1, VMOP_CFI_NONE);
	assert_kind(table, 0, VMOP_CFI_NONE);
	assert_kind(table, UINT64_MAX, VMOP_CFI_NONE);
	vmop_cfi_table_destroy(table);
}

static void a_remembered_row_is_restored(void **state)
{
	(void)state;
	struct vmop_cfi_table *table =
		TABLE(EM_X86_64, 0x41, 0x0e, 32, 0x41, 0x0a, 0x0e, 8, 0x41, 0x0b);
	assert_rsp(table, SYNTHETIC_TEXT + 1, 32);
	assert_rsp(table, SYNTHETIC_TEXT + 2, 8);
	assert_rsp(table, SYNTHETIC_TEXT + 3, 32);
	vmop_cfi_table_destroy(table);
}

static void all_ways_to_advance_are_read(void **state)
{
	(void)state;
	/* advance_loc1, 2, 4, MIPS_advance_loc8, set_loc */
	static const uint8_t program[] = {0x02,
					  1,
					  0x0e,
					  16,
					  0x03,
					  1,
					  0,
					  0x0e,
					  24,
					  0x04,
					  1,
					  0,
					  0,
					  0,
					  0x0e,
					  32,
					  0x1d,
					  1,
					  0,
					  0,
					  0,
					  0,
					  0,
					  0,
					  0,
					  0x0e,
					  40,
					  0x01,
					  9,
					  SYNTHETIC_TEXT >> 8,
					  SYNTHETIC_BIAS >> 16,
					  0,
					  0,
					  0,
					  0,
					  0,
					  0x0e,
					  48};
	struct vmop_cfi_table *table = table_of_program(EM_X86_64, program, sizeof(program));
	for (int i = 0; i <= 4; i++)
		assert_rsp(table, SYNTHETIC_TEXT + (uint64_t)i, 8 + 8 * i);
	assert_rsp(table, SYNTHETIC_TEXT + 8, 40);
	assert_rsp(table, SYNTHETIC_TEXT + 9, 48);
	vmop_cfi_table_destroy(table);
}

static void signed_and_extended_operands_are_read(void **state)
{
	(void)state;
	/* def_cfa_sf rsp 16; offset_extended rbp 2; then its other forms */
	struct vmop_cfi_table *table =
		TABLE(EM_X86_64, 0x12, 7, 0x7e, 0x05, 6, 2, 0x41, 0x11, 6, 3, 0x41, 0x2f, 6, 4,
		      0x41, 0x13, 0x7d, 0x06, 6, 0x2e, 0x90, 1, 0x41, 0x07, 6);
	assert_rsp(table, SYNTHETIC_TEXT, 16);
	assert_int_equal(rule_at(table, SYNTHETIC_TEXT).fp_offset, -16);
	assert_int_equal(rule_at(table, SYNTHETIC_TEXT + 1).fp_offset, -24);
	assert_int_equal(rule_at(table, SYNTHETIC_TEXT + 2).fp_offset, 32);
	assert_rsp(table, SYNTHETIC_TEXT + 3, 24);
	assert_int_equal(rule_at(table, SYNTHETIC_TEXT + 3).fp_saved, VMOP_CFI_SAME);
	assert_int_equal(rule_at(table, SYNTHETIC_TEXT + 4).fp_saved, VMOP_CFI_LOST);
	vmop_cfi_table_destroy(table);
}

static void an_aligned_stack_has_its_cfa_in_memory(void **state)
{
	(void)state;
	/* CFA = *(rbp - 8), and rbp at *rbp, as GCC writes it; then CFA = *(rsp + 40) + 8. */
	struct vmop_cfi_table *table =
		TABLE(EM_X86_64, 0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0, 0x41, 0x0f, 5,
		      0x77, 40, 0x06, 0x23, 8, 0x41, 0x0f, 4, 0x77, 40, 0x23, 8);
	struct vmop_cfi_rule rule = rule_at(table, SYNTHETIC_TEXT);
	assert_int_equal(rule.kind, VMOP_CFI_DEREF);
	assert_int_equal(rule.cfa_register, 6);
	assert_int_equal(rule.cfa_offset, -8);
	assert_int_equal(rule.cfa_addend, 0);
	assert_int_equal(rule.fp_saved, VMOP_CFI_AT_FP);
	assert_int_equal(rule.fp_offset, 0);
	rule = rule_at(table, SYNTHETIC_TEXT + 1);
	assert_int_equal(rule.kind, VMOP_CFI_DEREF);
	assert_int_equal(rule.cfa_register, 7);
	assert_int_equal(rule.cfa_offset, 40);
	assert_int_equal(rule.cfa_addend, 8);
	rule = rule_at(table, SYNTHETIC_TEXT + 2);
	assert_int_equal(rule.kind, VMOP_CFI_REGISTER);
	assert_int_equal(rule.cfa_offset, 48);
	vmop_cfi_table_destroy(table);
}

static void a_plt_is_recognised(void **state)
{
	(void)state;
	struct vmop_cfi_table *table = TABLE(EM_X86_64, 0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a,
					     0x3b, 0x2a, 0x33, 0x24, 0x22);
	assert_kind(table, SYNTHETIC_TEXT, VMOP_CFI_PLT);
	assert_int_equal(rule_at(table, SYNTHETIC_TEXT).cfa_offset, 11);
	vmop_cfi_table_destroy(table);
}

static void the_outermost_frame_ends_the_stack(void **state)
{
	(void)state;
	struct vmop_cfi_table *table = TABLE(EM_X86_64, 0x07, 16);
	assert_kind(table, SYNTHETIC_TEXT, VMOP_CFI_END);
	vmop_cfi_table_destroy(table);
}

static void a_trampoline_is_a_signal_frame(void **state)
{
	(void)state;
	struct synthetic_cfi cfi = {0};
	synthetic_cie(&cfi, "zRS", 16, "", 0);
	synthetic_fde(&cfi, SYNTHETIC_TEXT, 9, "\x0f\x03\x77\xa0\x01", 5);
	struct vmop_cfi_table *table = make(&(struct synthetic_image){.eh_frame = &cfi});
	assert_kind(table, SYNTHETIC_TEXT, VMOP_CFI_SIGNAL);
	assert_kind(table, SYNTHETIC_TEXT + 9, VMOP_CFI_NONE);
	vmop_cfi_table_destroy(table);
	synthetic_deinit(&cfi);
}

static void arm64_signs_return_addresses(void **state)
{
	(void)state;
	/* paciasp; stp x29, x30, [sp, -16]!; ...; autiasp */
	struct vmop_cfi_table *table = TABLE(EM_AARCH64, 0x44, 0x2d, 0x44, 0x0e, 16, 0x9d, 2, 0x9e,
					     1, 0x48, 0xdd, 0xde, 0x0e, 0, 0x44, 0x2d);
	struct vmop_cfi_rule rule = rule_at(table, SYNTHETIC_TEXT);
	assert_int_equal(rule.kind, VMOP_CFI_REGISTER);
	assert_int_equal(rule.cfa_register, 31);
	assert_int_equal(rule.ra_saved, VMOP_CFI_SAME);
	assert_false(rule.ra_is_signed);
	rule = rule_at(table, SYNTHETIC_TEXT + 8);
	assert_true(rule.ra_is_signed);
	assert_int_equal(rule.ra_saved, VMOP_CFI_AT_CFA);
	assert_int_equal(rule.ra_offset, -8);
	assert_int_equal(rule.fp_saved, VMOP_CFI_AT_CFA);
	assert_int_equal(rule.fp_offset, -16);
	assert_true(rule_at(table, SYNTHETIC_TEXT + 16).ra_is_signed);
	assert_false(rule_at(table, SYNTHETIC_TEXT + 20).ra_is_signed);
	struct vmop_cfi_facts facts;
	vmop_cfi_table_facts(table, &facts);
	assert_int_equal(facts.machine, EM_AARCH64);
	vmop_cfi_table_destroy(table);
	/* x86-64 has no such instruction: the FDE is damaged there. */
	table = TABLE(EM_X86_64, 0x44, 0x2d, 0x44);
	assert_rsp(table, SYNTHETIC_TEXT, 8);
	assert_kind(table, SYNTHETIC_TEXT + 4, VMOP_CFI_NONE);
	vmop_cfi_table_destroy(table);
}

static void records_are_kept_for_expressions(void **state)
{
	(void)state;
	/* CFA = rsp + rax */
	static const uint8_t program[] = {0x41, 0x0f, 5, 0x77, 0, 0x70, 0, 0x22};
	struct synthetic_cfi cfi = {0};
	synthetic_usual_cie(&cfi, EM_X86_64);
	synthetic_fde(&cfi, SYNTHETIC_TEXT, 16, "", 0);
	size_t fde = cfi.n;
	synthetic_fde(&cfi, SYNTHETIC_TEXT + 16, 16, program, sizeof(program));
	synthetic_fde(&cfi, SYNTHETIC_TEXT + 32, 16, "", 0);
	struct vmop_cfi_table *table = make(&(struct synthetic_image){.eh_frame = &cfi});
	assert_rsp(table, SYNTHETIC_TEXT + 16, 8);
	assert_kind(table, SYNTHETIC_TEXT + 17, VMOP_CFI_EXPRESSION);
	struct vmop_cfi_entry entry;
	assert_false(vmop_cfi_table_entry(table, SYNTHETIC_TEXT + 15, &entry));
	assert_false(vmop_cfi_table_entry(table, SYNTHETIC_TEXT + 32, &entry));
	assert_true(vmop_cfi_table_entry(table, SYNTHETIC_TEXT + 17, &entry));
	assert_int_equal(entry.cie_bytes, 24);
	assert_memory_equal(entry.cie, cfi.bytes, entry.cie_bytes);
	assert_memory_equal(entry.fde, cfi.bytes + fde, entry.fde_bytes);
	assert_int_equal(entry.fde_address - entry.cie_address, fde);
	assert_int_equal(entry.function_address, SYNTHETIC_BIAS + SYNTHETIC_TEXT + 16);
	assert_int_equal(entry.function_bytes, 16);
	assert_int_equal(entry.address_minus_offset, SYNTHETIC_BIAS);
	assert_false(entry.is_debug_frame);
	struct vmop_cfi_facts facts;
	vmop_cfi_table_facts(table, &facts);
	assert_int_equal(facts.n_expression_rows, 1);
	assert_int_equal(facts.text_bytes, SYNTHETIC_TEXT_BYTES);
	vmop_cfi_table_destroy(table);
	synthetic_deinit(&cfi);
}

/* Append a function whose CFA is rsp + cfa_offset. */
static void add(struct synthetic_cfi *cfi, uint64_t at, uint64_t len_bytes, uint8_t cfa_offset)
{
	uint8_t program[] = {0x0e, cfa_offset};
	synthetic_fde(cfi, SYNTHETIC_TEXT + at, len_bytes, program, sizeof(program));
}

static void functions_may_overlap_in_any_order(void **state)
{
	(void)state;
	struct synthetic_cfi cfi = {0};
	synthetic_usual_cie(&cfi, EM_X86_64);
	add(&cfi, 0x5000, 64, 80);
	add(&cfi, 0, 256, 16);
	add(&cfi, 0x40, 64, 24);
	add(&cfi, 0x40, 64, 32);
	add(&cfi, 0x2000, 64, 40);
	struct vmop_cfi_table *table = make(&(struct synthetic_image){.eh_frame = &cfi});
	assert_rsp(table, SYNTHETIC_TEXT, 16);
	assert_rsp(table, SYNTHETIC_TEXT + 0x3f, 16);
	assert_rsp(table, SYNTHETIC_TEXT + 0x40, 24);
	assert_rsp(table, SYNTHETIC_TEXT + 0x7f, 24);
	assert_kind(table, SYNTHETIC_TEXT + 0x80, VMOP_CFI_NONE);
	assert_kind(table, SYNTHETIC_TEXT + 0x1fff, VMOP_CFI_NONE);
	assert_rsp(table, SYNTHETIC_TEXT + 0x2000, 40);
	assert_rsp(table, SYNTHETIC_TEXT + 0x503f, 80);
	vmop_cfi_table_destroy(table);
	synthetic_deinit(&cfi);
}

static void padding_has_the_rule_before_it(void **state)
{
	(void)state;
	struct synthetic_cfi cfi = {0};
	synthetic_usual_cie(&cfi, EM_X86_64);
	add(&cfi, 0, 16, 16);
	add(&cfi, 32, 15, 16);
	add(&cfi, 64, 16, 24);
	struct vmop_cfi_table *table = make(&(struct synthetic_image){.eh_frame = &cfi});
	assert_rsp(table, SYNTHETIC_TEXT + 31, 16);
	assert_rsp(table, SYNTHETIC_TEXT + 46, 16);
	assert_kind(table, SYNTHETIC_TEXT + 47, VMOP_CFI_NONE);
	assert_rsp(table, SYNTHETIC_TEXT + 64, 24);
	struct vmop_cfi_facts facts;
	vmop_cfi_table_facts(table, &facts);
	assert_int_equal(facts.n_rows, 4);
	vmop_cfi_table_destroy(table);
	synthetic_deinit(&cfi);
}

static void debug_frame_fills_what_eh_frame_lacks(void **state)
{
	(void)state;
	struct synthetic_cfi eh = {0}, debug = {.is_debug_frame = true};
	synthetic_usual_cie(&eh, EM_X86_64);
	add(&eh, 0x100, 0x100, 16);
	synthetic_usual_cie(&debug, EM_X86_64);
	add(&debug, 0x100, 0x100, 32); /* the same function */
	add(&debug, 0x180, 0x100, 40); /* begins inside it */
	add(&debug, 0x80, 0x100, 48);  /* ends inside it */
	add(&debug, 0x300, 0x40, 56);
	struct vmop_cfi_table *table =
		make(&(struct synthetic_image){.eh_frame = &eh, .debug_frame = &debug});
	assert_rsp(table, SYNTHETIC_TEXT + 0x80, 48);
	assert_rsp(table, SYNTHETIC_TEXT + 0xff, 48);
	assert_rsp(table, SYNTHETIC_TEXT + 0x100, 16);
	assert_rsp(table, SYNTHETIC_TEXT + 0x1ff, 16);
	assert_kind(table, SYNTHETIC_TEXT + 0x200, VMOP_CFI_NONE);
	assert_rsp(table, SYNTHETIC_TEXT + 0x300, 56);
	vmop_cfi_table_destroy(table);
	table = make(&(struct synthetic_image){.debug_frame = &debug});
	assert_rsp(table, SYNTHETIC_TEXT + 0x100, 32);
	vmop_cfi_table_destroy(table);
	synthetic_deinit(&eh);
	synthetic_deinit(&debug);
}

static void a_search_table_leads_to_the_section(void **state)
{
	(void)state;
	struct synthetic_cfi cfi = {0};
	synthetic_usual_cie(&cfi, EM_X86_64);
	add(&cfi, 0, 64, 24);
	struct vmop_cfi_table *table =
		make(&(struct synthetic_image){.eh_frame = &cfi, .has_search_table = true});
	assert_rsp(table, SYNTHETIC_TEXT, 24);
	vmop_cfi_table_destroy(table);
	synthetic_deinit(&cfi);
}

static void damage_leaves_out_its_function_only(void **state)
{
	(void)state;
	static const uint8_t unknown[] = {0x42, 0x0e, 24, 0x42, 0x3f}, cut[] = {0x04, 1, 0};
	static const uint8_t too_many_remembered[] = {0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a,
						      0x0a, 0x0a, 0x0a, 0x0a, 0x0a, 0x0a,
						      0x0a, 0x0a, 0x0a, 0x0a, 0x0a};
	struct synthetic_cfi cfi = {0};
	synthetic_usual_cie(&cfi, EM_X86_64);
	add(&cfi, 0, 64, 16);
	synthetic_fde(&cfi, SYNTHETIC_TEXT + 64, 64, unknown, sizeof(unknown));
	/* The record has padding, so that the number is cut only if the padding is. */
	synthetic_fde(&cfi, SYNTHETIC_TEXT + 128, 64, cut, sizeof(cut));
	synthetic_fde(&cfi, SYNTHETIC_TEXT + 192, 64, too_many_remembered,
		      sizeof(too_many_remembered));
	synthetic_fde(&cfi, SYNTHETIC_TEXT + 256, 64, "\x0b", 1);
	synthetic_cie(&cfi, "q", 16, "", 0);
	add(&cfi, 320, 64, 16);
	synthetic_usual_cie(&cfi, EM_X86_64);
	add(&cfi, 384, 64, 32);
	struct vmop_cfi_table *table = make(&(struct synthetic_image){.eh_frame = &cfi});
	assert_rsp(table, SYNTHETIC_TEXT, 16);
	assert_rsp(table, SYNTHETIC_TEXT + 66, 24);
	assert_kind(table, SYNTHETIC_TEXT + 68, VMOP_CFI_NONE);
	assert_kind(table, SYNTHETIC_TEXT + 192, VMOP_CFI_NONE);
	assert_kind(table, SYNTHETIC_TEXT + 256, VMOP_CFI_NONE);
	assert_kind(table, SYNTHETIC_TEXT + 320, VMOP_CFI_NONE);
	assert_rsp(table, SYNTHETIC_TEXT + 384, 32);
	vmop_cfi_table_destroy(table);
	synthetic_deinit(&cfi);
}

static void functions_outside_the_text_are_left_out(void **state)
{
	(void)state;
	struct synthetic_cfi cfi = {0};
	synthetic_usual_cie(&cfi, EM_X86_64);
	add(&cfi, SYNTHETIC_TEXT_BYTES, 64, 16);
	add(&cfi, (uint64_t)-SYNTHETIC_TEXT - SYNTHETIC_BIAS, 64, 24);
	add(&cfi, UINT64_MAX / 2, 64, 24);
	struct synthetic_image image = {.eh_frame = &cfi};
	struct vmop_cfi_table *table = NULL;
	struct vmop_error *err = synthetic_table(&image, &table);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_NOT_FOUND);
	vmop_error_destroy(err);
	/* A function that is longer than the text has rows in the text only. */
	add(&cfi, SYNTHETIC_TEXT_BYTES - 16, UINT64_MAX, 32);
	table = make(&image);
	assert_rsp(table, SYNTHETIC_TEXT + SYNTHETIC_TEXT_BYTES - 1, 32);
	assert_kind(table, SYNTHETIC_TEXT + SYNTHETIC_TEXT_BYTES, VMOP_CFI_NONE);
	vmop_cfi_table_destroy(table);
	synthetic_deinit(&cfi);
}

static void the_entry_point_ends_at_the_next_function(void **state)
{
	(void)state;
	struct synthetic_cfi cfi = {0};
	synthetic_usual_cie(&cfi, EM_X86_64);
	add(&cfi, 0, 64, 16);
	add(&cfi, 0x120, 64, 16);
	struct synthetic_image image = {.eh_frame = &cfi, .entry = SYNTHETIC_TEXT + 0x100};
	struct vmop_cfi_table *table = make(&image);
	assert_false(vmop_cfi_table_is_entry(table, SYNTHETIC_TEXT + 0xff));
	assert_true(vmop_cfi_table_is_entry(table, SYNTHETIC_TEXT + 0x100));
	assert_true(vmop_cfi_table_is_entry(table, SYNTHETIC_TEXT + 0x11f));
	assert_false(vmop_cfi_table_is_entry(table, SYNTHETIC_TEXT + 0x120));
	vmop_cfi_table_destroy(table);
	image.entry = SYNTHETIC_TEXT + 0x800;
	table = make(&image);
	assert_true(vmop_cfi_table_is_entry(table, SYNTHETIC_TEXT + 0x83f));
	assert_false(vmop_cfi_table_is_entry(table, SYNTHETIC_TEXT + 0x840));
	vmop_cfi_table_destroy(table);
	image.entry = 0;
	table = make(&image);
	assert_false(vmop_cfi_table_is_entry(table, 0));
	assert_false(vmop_cfi_table_is_entry(table, (uint64_t)-SYNTHETIC_BIAS));
	vmop_cfi_table_destroy(table);
	synthetic_deinit(&cfi);
}

/* More rules than 16 bits can count. */
static void an_image_can_have_many_rules(void **state)
{
	(void)state;
	struct synthetic_cfi cfi = {0};
	uint8_t *program = malloc(5 * (size_t)SYNTHETIC_TEXT_BYTES), *at = program;
	assert_non_null(program);
	for (uint32_t i = 0; i < SYNTHETIC_TEXT_BYTES; i++) {
		/* def_cfa_offset of three bytes of LEB128, advance 1 */
		*at++ = 0x0e;
		*at++ = (uint8_t)(i | 0x80);
		*at++ = (uint8_t)(i >> 7 | 0x80);
		*at++ = (uint8_t)(i >> 14);
		*at++ = 0x41;
	}
	synthetic_usual_cie(&cfi, EM_X86_64);
	synthetic_fde(&cfi, SYNTHETIC_TEXT, SYNTHETIC_TEXT_BYTES, program, (size_t)(at - program));
	free(program);
	struct vmop_cfi_table *table = make(&(struct synthetic_image){.eh_frame = &cfi});
	for (uint32_t i = 0; i < SYNTHETIC_TEXT_BYTES; i++)
		assert_rsp(table, SYNTHETIC_TEXT + i, (int)i);
	struct vmop_cfi_facts facts;
	vmop_cfi_table_facts(table, &facts);
	assert_int_equal(facts.n_rules, SYNTHETIC_TEXT_BYTES + 1);
	vmop_cfi_table_destroy(table);
	synthetic_deinit(&cfi);
}

static int file_of(const struct synthetic_image *image)
{
	size_t len_bytes;
	uint8_t *bytes = synthetic_make(image, &len_bytes);
	int fd = memfd_create("image", MFD_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, len_bytes), len_bytes);
	free(bytes);
	return fd;
}

static void assert_fails(int fd, const struct vmop_cfi_limits *limits, int code)
{
	struct vmop_cfi_table *table = NULL;
	struct vmop_error *err = vmop_cfi_table_build(fd, limits, &table);
	assert_non_null(err);
	assert_null(table);
	assert_int_equal(err->code, code);
	vmop_error_destroy(err);
}

static void files_that_are_cut_are_refused(void **state)
{
	(void)state;
	struct synthetic_cfi cfi = {0};
	synthetic_usual_cie(&cfi, EM_X86_64);
	add(&cfi, 0, 64, 16);
	for (int has_search_table = 0; has_search_table < 2; has_search_table++) {
		struct synthetic_image image = {.eh_frame = &cfi,
						.has_search_table = has_search_table};
		int fd = file_of(&image);
		struct vmop_cfi_table *table = NULL;
		assert_null(vmop_cfi_table_build(fd, &ample, &table));
		assert_rsp(table, SYNTHETIC_TEXT, 16);
		vmop_cfi_table_destroy(table);
		/* The last byte is of the section headers. */
		off_t end = lseek(fd, 0, SEEK_END);
		for (off_t len_bytes = end - 1; len_bytes > 0; len_bytes -= 61) {
			assert_int_equal(ftruncate(fd, len_bytes), 0);
			struct vmop_error *err = vmop_cfi_table_build(fd, &ample, &table);
			assert_non_null(err);
			assert_true(err->code == VMOP_ERROR_CORRUPT ||
				    err->code == VMOP_ERROR_NOT_FOUND);
			vmop_error_destroy(err);
		}
		close(fd);
	}
	synthetic_deinit(&cfi);
}

static void files_of_other_kinds_are_refused(void **state)
{
	(void)state;
	struct synthetic_cfi cfi = {0};
	synthetic_usual_cie(&cfi, EM_X86_64);
	int fd = file_of(&(struct synthetic_image){.machine = EM_RISCV, .eh_frame = &cfi});
	assert_fails(fd, &ample, VMOP_ERROR_CORRUPT);
	assert_int_equal(pwrite(fd, "MZ", 2, 0), 2);
	assert_fails(fd, &ample, VMOP_ERROR_CORRUPT);
	close(fd);
	fd = file_of(&(struct synthetic_image){.machine = EM_AARCH64});
	assert_fails(fd, &ample, VMOP_ERROR_NOT_FOUND);
	close(fd);
	synthetic_deinit(&cfi);
}

/* Set the length of .eh_frame in the section header and in the segment that contains it. */
static void set_section_bytes(int fd, uint64_t len_bytes)
{
	Elf64_Ehdr header;
	Elf64_Shdr section;
	assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
	off_t at = (off_t)(header.e_shoff + 2 * sizeof(section));
	assert_int_equal(pread(fd, &section, sizeof(section), at), sizeof(section));
	section.sh_size = len_bytes;
	assert_int_equal(pwrite(fd, &section, sizeof(section), at), sizeof(section));
}

static void sparse_files_are_bounded(void **state)
{
	(void)state;
	struct synthetic_cfi cfi = {0};
	synthetic_usual_cie(&cfi, EM_X86_64);
	add(&cfi, 0, 64, 16);
	int fd = file_of(&(struct synthetic_image){.eh_frame = &cfi});
	assert_int_equal(ftruncate(fd, (off_t)1 << 30), 0);
	set_section_bytes(fd, (uint64_t)1 << 29);
	const struct vmop_cfi_limits limits = {.max_bytes = (size_t)64 << 20,
					       .max_cpu_ns = 60 * VMOP_NS_PER_S};
	assert_fails(fd, &limits, VMOP_ERROR_LIMIT);
	set_section_bytes(fd, UINT64_MAX);
	assert_fails(fd, &limits, VMOP_ERROR_LIMIT);
	/* A terminator follows the records, so the rest is read and ignored. */
	set_section_bytes(fd, (uint64_t)32 << 20);
	struct vmop_cfi_table *table = NULL;
	assert_null(vmop_cfi_table_build(fd, &limits, &table));
	assert_rsp(table, SYNTHETIC_TEXT, 16);
	vmop_cfi_table_destroy(table);
	close(fd);
	synthetic_deinit(&cfi);
}

static void millions_of_functions_are_bounded(void **state)
{
	(void)state;
	struct synthetic_cfi cfi = {0};
	synthetic_usual_cie(&cfi, EM_X86_64);
	for (uint64_t i = 0; i < 2000000; i++)
		add(&cfi, i * 40503 % SYNTHETIC_TEXT_BYTES, 1, (uint8_t)(i % 128));
	int fd = file_of(&(struct synthetic_image){.eh_frame = &cfi});
	struct vmop_cfi_limits limits = {.max_bytes = cfi.n + ((size_t)1 << 20),
					 .max_cpu_ns = 60 * VMOP_NS_PER_S};
	assert_fails(fd, &limits, VMOP_ERROR_LIMIT);
	limits = (struct vmop_cfi_limits){.max_bytes = (size_t)1 << 30,
					  .max_cpu_ns = VMOP_NS_PER_MS};
	assert_fails(fd, &limits, VMOP_ERROR_LIMIT);
	/* All of them lie in few bytes of text, and so the table is small. */
	struct vmop_cfi_table *table = NULL;
	struct vmop_cfi_facts facts;
	assert_null(vmop_cfi_table_build(fd, &ample, &table));
	vmop_cfi_table_facts(table, &facts);
	assert_true(facts.n_rows <= SYNTHETIC_TEXT_BYTES + 1);
	vmop_cfi_table_destroy(table);
	close(fd);
	synthetic_deinit(&cfi);
}

/* Whatever bound stops the build, memory is freed (which a sanitizer checks). */
static void every_bound_is_an_error(void **state)
{
	(void)state;
	static const uint8_t program[] = {0x41, 0x0f, 5, 0x77, 0, 0x70, 0, 0x22};
	struct synthetic_cfi cfi = {0};
	synthetic_usual_cie(&cfi, EM_X86_64);
	for (uint64_t i = 200; i > 0; i--)
		synthetic_fde(&cfi, SYNTHETIC_TEXT + i * 64, 64, program, sizeof(program));
	int fd = file_of(&(struct synthetic_image){.eh_frame = &cfi});
	struct vmop_cfi_limits limits = ample;
	struct vmop_cfi_table *table = NULL;
	size_t n_refused = 0;
	for (limits.max_bytes = 0;; limits.max_bytes += 256, n_refused++) {
		struct vmop_error *err = vmop_cfi_table_build(fd, &limits, &table);
		if (!err)
			break;
		assert_int_equal(err->code, VMOP_ERROR_LIMIT);
		vmop_error_destroy(err);
	}
	assert_true(n_refused > 40);
	assert_kind(table, SYNTHETIC_TEXT + 65, VMOP_CFI_EXPRESSION);
	struct vmop_cfi_facts facts;
	vmop_cfi_table_facts(table, &facts);
	assert_true(facts.table_bytes <= limits.max_bytes + 1024);
	vmop_cfi_table_destroy(table);
	close(fd);
	synthetic_deinit(&cfi);
}

static void the_vdso_is_read_from_memory(void **state)
{
	(void)state;
	const uint8_t *vdso = (const uint8_t *)getauxval(AT_SYSINFO_EHDR);
	if (!vdso)
		skip();
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)vdso;
	const Elf64_Phdr *segments = (const Elf64_Phdr *)(vdso + header->e_phoff);
	size_t len_bytes = header->e_shoff + (size_t)header->e_shnum * header->e_shentsize;
	struct vmop_cfi_table *table = NULL;
	struct vmop_error *none = vmop_cfi_table_build_from_memory(vdso, len_bytes, &ample, &table);
#ifdef __aarch64__ /* the kernel links arm64's vDSO without CFI                                    \
		      (arch/arm64/kernel/vdso/vdso.lds.S) */
	assert_non_null(none);
	assert_int_equal(none->code, VMOP_ERROR_NOT_FOUND);
	vmop_error_destroy(none);
	return;
#endif
	assert_null(none);
	struct vmop_cfi_facts facts;
	vmop_cfi_table_facts(table, &facts);
	assert_true(facts.n_rows > 4);
	assert_int_equal(facts.text_bytes, segments[0].p_filesz);
	vmop_cfi_table_destroy(table);
	struct vmop_error *err = vmop_cfi_table_build_from_memory(vdso, 63, &ample, &table);
	assert_non_null(err);
	assert_int_equal(err->code, VMOP_ERROR_CORRUPT);
	vmop_error_destroy(err);
}

/* An image of which some bytes can't be read. */
struct partial_image {
	const uint8_t *bytes;
	size_t len_bytes;
	size_t absent_at; /* the byte that is not there */
};

static bool read_partial(void *arg, uint64_t offset, void *buf, size_t len_bytes)
{
	const struct partial_image *image = arg;
	if (offset > image->len_bytes || len_bytes > image->len_bytes - offset ||
	    image->absent_at - offset < len_bytes)
		return false;
	memcpy(buf, image->bytes + offset, len_bytes);
	return true;
}

static void a_file_is_read_by_a_function(void **state)
{
	(void)state;
	struct synthetic_cfi cfi = {0};
	synthetic_usual_cie(&cfi, EM_X86_64);
	synthetic_fde(&cfi, SYNTHETIC_TEXT, 64, NULL, 0);
	struct partial_image image;
	uint8_t *bytes =
		synthetic_make(&(struct synthetic_image){.eh_frame = &cfi}, &image.len_bytes);
	const struct vmop_cfi_reader reader = {.read = read_partial, .arg = &image};
	size_t n_tables = 0;
	image.bytes = bytes;
	/* Without a byte that it needs there is no table. */
	for (image.absent_at = 0; image.absent_at <= image.len_bytes; image.absent_at++) {
		struct vmop_cfi_table *table = NULL;
		struct vmop_error *err = vmop_cfi_table_build_by(&reader, &ample, &table);
		if (!err) {
			assert_rsp(table, SYNTHETIC_TEXT, 8);
			vmop_cfi_table_destroy(table);
			n_tables++;
		}
		assert_true(!err || err->code == VMOP_ERROR_CORRUPT ||
			    err->code == VMOP_ERROR_NOT_FOUND);
		assert_true(!err || image.absent_at < image.len_bytes);
		vmop_error_destroy(err);
	}
	assert_true(n_tables > 0 && n_tables < image.len_bytes);
	free(bytes);
	synthetic_deinit(&cfi);
}

/* Return the table of two functions: one saves rbx, and the other one's CFA may be rbx. */
static struct vmop_cfi_table *table_with_rbx(bool has_cfa_by_rbx)
{
	/* push rbx; ...; the other: push rbx; mov rbx, rsp */
	static const uint8_t saves[] = {0x41, 0x0e, 16, 0x83, 2};
	static const uint8_t uses[] = {0x41, 0x0e, 16, 0x83, 2, 0x43, 0x0d, 3};
	struct synthetic_cfi cfi = {0};
	synthetic_usual_cie(&cfi, EM_X86_64);
	synthetic_fde(&cfi, SYNTHETIC_TEXT, 64, saves, sizeof(saves));
	synthetic_fde(&cfi, SYNTHETIC_TEXT + 64, 64, uses,
		      has_cfa_by_rbx ? sizeof(uses) : sizeof(saves));
	struct vmop_cfi_table *table = make(&(struct synthetic_image){.eh_frame = &cfi});
	synthetic_deinit(&cfi);
	return table;
}

static void rbx_has_rows_where_a_cfa_needs_it(void **state)
{
	(void)state;
	struct vmop_cfi_table *table = table_with_rbx(true);
	assert_rsp(table, SYNTHETIC_TEXT, 8);
	assert_int_equal(rule_at(table, SYNTHETIC_TEXT).extra_saved, VMOP_CFI_SAME);
	assert_rsp(table, SYNTHETIC_TEXT + 1, 16);
	assert_int_equal(rule_at(table, SYNTHETIC_TEXT + 1).extra_saved, VMOP_CFI_AT_CFA);
	assert_int_equal(rule_at(table, SYNTHETIC_TEXT + 1).extra_offset, -16);
	assert_int_equal(rule_at(table, SYNTHETIC_TEXT + 68).cfa_register, 3);
	vmop_cfi_table_destroy(table);
	table = table_with_rbx(false);
	assert_rsp(table, SYNTHETIC_TEXT + 1, 16);
	assert_int_equal(rule_at(table, SYNTHETIC_TEXT + 1).extra_saved, VMOP_CFI_LOST);
	vmop_cfi_table_destroy(table);
}

static void gos_programs_are_known_by_their_note(void **state)
{
	(void)state;
	static const uint8_t program[] = {0x41, 0x0e, 16};
	struct synthetic_cfi cfi = {0};
	synthetic_usual_cie(&cfi, EM_X86_64);
	synthetic_fde(&cfi, SYNTHETIC_TEXT, 64, program, sizeof(program));
	for (int is_go = 0; is_go < 2; is_go++) {
		struct vmop_cfi_table *table =
			make(&(struct synthetic_image){.eh_frame = &cfi, .is_go = is_go});
		assert_int_equal(vmop_cfi_table_ends_with_zero(table), is_go);
		vmop_cfi_table_destroy(table);
	}
	synthetic_deinit(&cfi);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_follow_a_prologue),
		cmocka_unit_test(a_remembered_row_is_restored),
		cmocka_unit_test(all_ways_to_advance_are_read),
		cmocka_unit_test(signed_and_extended_operands_are_read),
		cmocka_unit_test(an_aligned_stack_has_its_cfa_in_memory),
		cmocka_unit_test(a_plt_is_recognised),
		cmocka_unit_test(the_outermost_frame_ends_the_stack),
		cmocka_unit_test(a_trampoline_is_a_signal_frame),
		cmocka_unit_test(arm64_signs_return_addresses),
		cmocka_unit_test(records_are_kept_for_expressions),
		cmocka_unit_test(functions_may_overlap_in_any_order),
		cmocka_unit_test(padding_has_the_rule_before_it),
		cmocka_unit_test(debug_frame_fills_what_eh_frame_lacks),
		cmocka_unit_test(a_search_table_leads_to_the_section),
		cmocka_unit_test(damage_leaves_out_its_function_only),
		cmocka_unit_test(functions_outside_the_text_are_left_out),
		cmocka_unit_test(the_entry_point_ends_at_the_next_function),
		cmocka_unit_test(an_image_can_have_many_rules),
		cmocka_unit_test(files_that_are_cut_are_refused),
		cmocka_unit_test(files_of_other_kinds_are_refused),
		cmocka_unit_test(sparse_files_are_bounded),
		cmocka_unit_test(millions_of_functions_are_bounded),
		cmocka_unit_test(every_bound_is_an_error),
		cmocka_unit_test(the_vdso_is_read_from_memory),
		cmocka_unit_test(a_file_is_read_by_a_function),
		cmocka_unit_test(rbx_has_rows_where_a_cfa_needs_it),
		cmocka_unit_test(gos_programs_are_known_by_their_note),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
