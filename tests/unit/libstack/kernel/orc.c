// SPDX-License-Identifier: GPL-2.0-or-later
/* ORC tables of all forms, and stacks that they unwind. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "libstack/kernel/orc.h"
#include "tests/unit/libstack/kernel/stack.h"

/* Text of four functions at TEXT, 16 bytes each, and a stack at STACK. */
#define TEXT UINT64_C(0xffffffff81000000)
#define TABLE UINT64_C(0xffffffff82000000)
#define STACK UINT64_C(0xffffc90000010000)

enum { N = 6, CALL = 2, REGS = 3, PARTIAL = 4, UNDEFINED = 0, END = 1 };

/* An entry in the numbers of Linux 6.4 to 6.18; the table is written in any form. */
struct row {
	int16_t sp_offset, bp_offset;
	uint8_t sp_reg, bp_reg, type;
};

static const struct row rows[N] = {
	{.sp_offset = 24, .sp_reg = 5, .type = CALL},				     /* a leaf */
	{.sp_offset = 16, .bp_offset = -16, .sp_reg = 4, .bp_reg = 1, .type = CALL}, /* has rbp */
	{.sp_offset = 0, .sp_reg = 5, .type = REGS},				     /* an entry */
	{.type = END},
	{.sp_offset = 0, .sp_reg = 5, .type = PARTIAL},
	{.type = UNDEFINED},
};

enum form { BEFORE_6_3, SINCE_6_3, SINCE_6_4, SINCE_7_0 };

static uint8_t renumbered(uint8_t reg)
{
	static const uint8_t since_7_0[] = {[0] = 0, [1] = 8, [4] = 4, [5] = 3};
	return since_7_0[reg];
}

static struct vmop_orc *make(enum form form, size_t n)
{
	static const struct vmop_orc_format formats[] = {
		[BEFORE_6_3] = {.type_bit = 40, .type_bits = 2, .end_bit = 42},
		[SINCE_6_3] = {.type_bit = 40, .type_bits = 2, .end_bit = 43},
		[SINCE_6_4] = {.type_bit = 40, .type_bits = 3},
		[SINCE_7_0] = {.type_bit = 40, .type_bits = 3},
	};
	const struct vmop_orc_format *format = &formats[form];
	uint8_t ips[4 * N], entries[6 * N];
	for (size_t i = 0; i < n; i++) {
		const struct row *row = &rows[i];
		bool is_new = form == SINCE_7_0, has_end = format->type_bits == 2;
		uint8_t type =
			has_end ? (uint8_t)(row->type < CALL ? 0 : row->type - CALL) : row->type;
		uint64_t bits = (uint16_t)row->sp_offset | (uint64_t)(uint16_t)row->bp_offset << 16;
		bits |= (uint64_t)(is_new ? renumbered(row->sp_reg) : row->sp_reg) << 32;
		bits |= (uint64_t)(is_new ? renumbered(row->bp_reg) : row->bp_reg) << 36;
		bits |= (uint64_t)type << format->type_bit;
		if (has_end && row->type == END)
			bits |= UINT64_C(1) << format->end_bit;
		int32_t relative = (int32_t)(TEXT + 16 * i - (TABLE + 4 * i));
		memcpy(ips + 4 * i, &relative, 4);
		memcpy(entries + 6 * i, &bits, 6);
	}
	const struct vmop_orc_section section = {.text_start = TEXT,
						 .text_end = TEXT + 16 * N,
						 .ip_address = TABLE,
						 .n = n,
						 .ips = ips,
						 .entries = entries};
	struct vmop_orc *orc;
	assert_null(vmop_orc_create(format, &section, 1, &orc));
	return orc;
}

static struct vmop_kernel_unwound unwind(const struct vmop_orc *orc, struct kernel_stack *stack,
					 uint64_t pc, uint64_t sp, uint64_t fp,
					 struct vmop_stack_frame *frames, size_t max)
{
	const struct vmop_kernel_regs regs = {.pc = pc, .sp = sp, .fp = fp};
	const struct vmop_kernel_memory memory = {.read = kernel_stack_read, .arg = stack};
	struct vmop_kernel_unwound unwound;
	vmop_orc_unwind(orc, &regs, &memory, frames, max, &unwound);
	return unwound;
}

/* A leaf, called by a function with rbp, called by an entry from user code. */
static void test_user(void **state)
{
	(void)state;
	for (enum form form = BEFORE_6_3; form <= SINCE_7_0; form++) {
		struct vmop_orc *orc = make(form, N);
		struct kernel_stack stack = {.start = STACK};
		struct vmop_stack_frame frames[8];
		stack.words[2] = TEXT + 16 + 5;	 /* the leaf's return address, at 24 - 8 */
		stack.words[10] = 0x1234;	 /* rbp of the function's caller */
		stack.words[11] = TEXT + 32 + 7; /* its return address */
		stack.words[12 + 16] = 0x401000; /* pt_regs: ip, cs, sp */
		stack.words[12 + 17] = 0x33;
		stack.words[12 + 19] = 0x7ffd0000;
		stack.words[12 + 4] = 0x7ffd0010;
		struct vmop_kernel_unwound unwound =
			unwind(orc, &stack, TEXT + 4, STACK, STACK + 80, frames, 8);
		assert_int_equal(unwound.end, VMOP_STACK_COMPLETE);
		assert_int_equal(unwound.n_frames, 3);
		assert_true(frames[1].address == TEXT + 16 + 5);
		assert_true(frames[2].address == TEXT + 32 + 7);
		assert_true(unwound.entry.is_known);
		assert_true(unwound.entry.pc == 0x401000 && unwound.entry.sp == 0x7ffd0000);
		assert_true(unwound.entry.fp == 0x7ffd0010);
		assert_true(unwound.entry.address == STACK + 96);
		vmop_orc_destroy(orc);
	}
}

/* An interrupt of the kernel: its registers name the interrupted code, which is exact. */
static void test_interrupt(void **state)
{
	struct vmop_orc *orc = make(SINCE_6_4, N);
	struct kernel_stack stack = {.start = STACK};
	struct vmop_stack_frame frames[8];
	(void)state;
	stack.words[16] = TEXT; /* ip: the first byte of the leaf */
	stack.words[17] = 0x10;
	stack.words[19] = STACK + 22 * 8;
	stack.words[24] = TEXT + 48 + 1; /* returns to code that is an end */
	struct vmop_kernel_unwound unwound = unwind(orc, &stack, TEXT + 33, STACK, 0, frames, 8);
	assert_int_equal(unwound.end, VMOP_STACK_COMPLETE);
	assert_int_equal(unwound.n_frames, 3);
	assert_true(frames[1].is_interrupted && frames[1].address == TEXT);
	assert_false(unwound.entry.is_known);
	vmop_orc_destroy(orc);
}

/* An interrupted retpoline, before it calls over its loop and after. */
static void test_undescribed(void **state)
{
	struct vmop_orc *orc = make(SINCE_6_4, N);
	struct kernel_stack stack = {.start = STACK};
	const struct vmop_kernel_memory memory = {.read = kernel_stack_read, .arg = &stack};
	struct vmop_kernel_regs regs = {.pc = TEXT + 80, .sp = STACK + 8, .is_interrupted = true};
	struct vmop_stack_frame frames[8];
	struct vmop_kernel_unwound unwound;
	(void)state;
	stack.words[0] = TEXT + 80 + 5; /* in the retpoline itself */
	stack.words[1] = TEXT + 4;	/* in the leaf */
	stack.words[4] = TEXT + 48 + 1; /* returns to code that is an end */
	for (int i = 0; i < 2; i++) {
		vmop_orc_unwind(orc, &regs, &memory, frames, 8, &unwound);
		assert_int_equal(unwound.end, VMOP_STACK_COMPLETE);
		assert_int_equal(unwound.n_frames, 3);
		assert_true(frames[0].address == regs.pc && frames[0].is_interrupted);
		assert_true(frames[1].address == TEXT + 4);
		regs.sp -= 8;
	}
	/* Nothing there leads to an end. */
	stack.words[4] = 0;
	regs.sp = STACK;
	vmop_orc_unwind(orc, &regs, &memory, frames, 8, &unwound);
	assert_int_equal(unwound.end, VMOP_STACK_NO_CFI);
	assert_int_equal(unwound.n_frames, 1);
	vmop_orc_destroy(orc);
}

/* The five words that the CPU saves, from user code. */
static void test_partial(void **state)
{
	struct vmop_orc *orc = make(SINCE_7_0, N);
	struct kernel_stack stack = {.start = STACK};
	struct vmop_stack_frame frames[8];
	(void)state;
	stack.words[0] = 0x401000;
	stack.words[1] = 0x33;
	stack.words[3] = 0x7ffd0000;
	struct vmop_kernel_unwound unwound =
		unwind(orc, &stack, TEXT + 64 + 3, STACK, 77, frames, 8);
	assert_int_equal(unwound.end, VMOP_STACK_COMPLETE);
	assert_true(unwound.entry.is_known && unwound.entry.fp == 77);
	assert_true(unwound.entry.address == STACK - 16 * 8);
	vmop_orc_destroy(orc);
}

static void test_ends(void **state)
{
	struct vmop_orc *orc = make(SINCE_6_4, N);
	struct kernel_stack stack = {.start = STACK};
	struct vmop_stack_frame frames[8];
	(void)state;
	/* A stack that leads back to itself. */
	stack.words[0] = STACK;
	stack.words[1] = TEXT + 16 + 5;
	struct vmop_kernel_unwound unwound =
		unwind(orc, &stack, TEXT + 16 + 5, STACK, STACK, frames, 8);
	assert_int_equal(unwound.end, VMOP_STACK_DEPTH_LIMIT);
	struct vmop_stack_frame many[100];
	unwound = unwind(orc, &stack, TEXT + 16 + 5, STACK, STACK, many, 100);
	assert_int_equal(unwound.end, VMOP_STACK_TORN);
	assert_true(unwound.n_frames < 20);
	/* A stack that is not there. */
	unwound = unwind(orc, &stack, TEXT + 4, 0, 0, frames, 8);
	assert_int_equal(unwound.end, VMOP_STACK_COPY_SHORT);
	assert_int_equal(unwound.n_frames, 1);
	/* Code below the first entry of a section. */
	vmop_orc_destroy(orc);
	orc = make(SINCE_6_4, 0);
	stack.words[0] = 0;
	unwound = unwind(orc, &stack, TEXT + 4, STACK, STACK, frames, 8);
	assert_int_equal(unwound.n_frames, 2); /* no table: by frame pointer */
	vmop_orc_destroy(orc);
}

static void test_bad_format(void **state)
{
	static const struct vmop_orc_format bad[] = {
		{.type_bit = 40, .type_bits = 4},
		{.type_bit = 40, .type_bits = 2}, /* no end */
		{.type_bit = 47, .type_bits = 3},
		{.type_bit = 40, .type_bits = 2, .end_bit = 48},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct vmop_orc *orc;
		struct vmop_error *err = vmop_orc_create(&bad[i], NULL, 0, &orc);
		assert_non_null(err);
		assert_int_equal(err->code, VMOP_ERROR_CORRUPT);
		vmop_error_destroy(err);
	}
	vmop_orc_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_user),	    cmocka_unit_test(test_interrupt),
		cmocka_unit_test(test_undescribed), cmocka_unit_test(test_partial),
		cmocka_unit_test(test_ends),	    cmocka_unit_test(test_bad_format),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
