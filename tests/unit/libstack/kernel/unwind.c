// SPDX-License-Identifier: GPL-2.0-or-later
/* Kernel stacks by frame pointers (x86-64) and frame records (arm64). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "libstack/kernel/calls.h"
#include "libstack/kernel/unwind.h"
#include "tests/unit/libstack/kernel/stack.h"

#define STACK UINT64_C(0xffffc90000010000)
#define CODE UINT64_C(0xffffffff81000000)

/* struct pt_regs of Linux 6.13: 312 bytes before stackframe.type; x29 and pc in it. */
enum { KIND_AT = 312, KIND_FINAL = 1, KIND_PT_REGS = 2, REGS_FP = 29, REGS_PC = 32 };

static const struct vmop_frame_records records = {.va_bits = 48};

typedef void unwinder(const struct vmop_kernel_regs *regs, const struct vmop_kernel_memory *memory,
		      struct vmop_stack_frame *frames, size_t max, struct vmop_kernel_unwound *ret);

static void by_records(const struct vmop_kernel_regs *regs, const struct vmop_kernel_memory *memory,
		       struct vmop_stack_frame *frames, size_t max, struct vmop_kernel_unwound *ret)
{
	vmop_frame_records_unwind(regs, &records, memory, frames, max, ret);
}

static void by_records_with_kinds(const struct vmop_kernel_regs *regs,
				  const struct vmop_kernel_memory *memory,
				  struct vmop_stack_frame *frames, size_t max,
				  struct vmop_kernel_unwound *ret)
{
	const struct vmop_frame_records with_kinds = {.va_bits = 48, .kind_at = KIND_AT};
	vmop_frame_records_unwind(regs, &with_kinds, memory, frames, max, ret);
}

static struct vmop_kernel_unwound unwind(unwinder *by, struct kernel_stack *stack, uint64_t fp,
					 struct vmop_stack_frame *frames, size_t max)
{
	const struct vmop_kernel_regs regs = {.pc = CODE, .sp = STACK, .fp = fp};
	const struct vmop_kernel_memory memory = {.read = kernel_stack_read, .arg = stack};
	struct vmop_kernel_unwound unwound;
	by(&regs, &memory, frames, max, &unwound);
	return unwound;
}

/* Two frames, then the end of each kind of machine. */
static struct kernel_stack two_frames(uint64_t last)
{
	struct kernel_stack stack = {.start = STACK};
	stack.words[0] = STACK + 32;
	stack.words[1] = CODE + 1;
	stack.words[4] = last;
	stack.words[5] = CODE + 2;
	return stack;
}

/* Functions of 256 bytes, in 4 KiB. */
static bool find_function(void *arg, uint64_t address, struct vmop_kernel_function *ret)
{
	(void)arg;
	ret->start = address & ~UINT64_C(0xff);
	ret->end = ret->start + 0x100;
	return address - CODE < 4096;
}

/* A call of CODE's first function before CODE + 0x300, and no code before CODE + 0x210. */
static const uint8_t *find_call(void *arg, uint64_t address, size_t len_bytes)
{
	static uint8_t code[4];
	uint32_t call = 0x94000000 | ((UINT32_C(0) - 0x2fc / 4) & 0x3ffffff);
	(void)arg;
	assert_int_equal(len_bytes, 4);
	for (int i = 0; i < 4; i++)
		code[i] = (uint8_t)(call >> 8 * i);
	return address == CODE + 0x20c ? NULL : code;
}

/* A leaf function's caller is in x30 only; one with a record has it there, or any value. */
static void test_link(void **state)
{
	const struct vmop_kernel_text text = {.find_function = find_function, .code = find_call};
	const struct vmop_kernel_memory memory = {.read = kernel_stack_read};
	const struct {
		uint64_t link;
		enum vmop_kernel_link added;
	} cases[] = {
		{CODE + 0x210, VMOP_KERNEL_LINK_LIKELY}, /* the code is not there */
		{(CODE + 0x210) ^ UINT64_C(0x1a) << 49, VMOP_KERNEL_LINK_LIKELY}, /* signed */
		{CODE + 0x300, VMOP_KERNEL_LINK_CERTAIN}, /* of a call that does not return */
		{CODE + 0x400, VMOP_KERNEL_LINK_LIKELY},  /* a call of another function */
		{CODE + 1, VMOP_KERNEL_LINK_NONE},	  /* the record's */
		{CODE + 0x40, VMOP_KERNEL_LINK_NONE},	  /* the function itself */
		{CODE + 0x100, VMOP_KERNEL_LINK_NONE},	  /* its last call */
		{CODE + 8192, VMOP_KERNEL_LINK_NONE},	  /* no code */
		{0x400210, VMOP_KERNEL_LINK_NONE},	  /* the user's */
		{0, VMOP_KERNEL_LINK_NONE},
	};
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct kernel_stack stack = two_frames(0);
		struct vmop_kernel_memory own = memory;
		struct vmop_stack_frame frames[8];
		struct vmop_kernel_unwound unwound;
		const struct vmop_kernel_regs regs = {.pc = CODE + 0x20,
						      .sp = STACK,
						      .fp = STACK,
						      .is_interrupted = true,
						      .link = cases[i].link};
		own.arg = &stack;
		vmop_frame_records_unwind(&regs, &records, &own, frames, 8, &unwound);
		assert_int_equal(unwound.n_frames, 3);
		enum vmop_kernel_link added =
			vmop_frame_records_add_link(&regs, &records, &text, frames, 8, &unwound);
		bool is_added = added != VMOP_KERNEL_LINK_NONE;
		assert_int_equal(added, cases[i].added);
		assert_int_equal(unwound.n_frames, is_added ? 4 : 3);
		assert_true(frames[0].address == CODE + 0x20);
		assert_true(!is_added || (frames[1].address & 0xfff) == (cases[i].link & 0xfff));
		assert_true(frames[1 + is_added].address == CODE + 1);
		assert_true(frames[2 + is_added].address == CODE + 2);
		assert_int_equal(unwound.end, VMOP_STACK_COMPLETE);
		/* Without room, the outermost frame goes. */
		vmop_frame_records_unwind(&regs, &records, &own, frames, 3, &unwound);
		added = vmop_frame_records_add_link(&regs, &records, &text, frames, 3, &unwound);
		assert_int_equal(added, cases[i].added);
		assert_int_equal(unwound.n_frames, 3);
		assert_int_equal(unwound.end,
				 is_added ? VMOP_STACK_DEPTH_LIMIT : VMOP_STACK_COMPLETE);
	}
}

static void test_records(void **state)
{
	struct vmop_stack_frame frames[8];
	struct kernel_stack stack = two_frames(STACK + 64);
	(void)state;
	/* A signed return address, as pointer authentication leaves it on the stack. */
	stack.words[5] = (CODE + 2) ^ UINT64_C(0x5a) << 49;
	struct vmop_kernel_unwound unwound = unwind(by_records, &stack, STACK, frames, 8);
	assert_int_equal(unwound.end, VMOP_STACK_COMPLETE);
	assert_int_equal(unwound.n_frames, 3);
	assert_true(frames[0].address == CODE && frames[1].address == CODE + 1);
	assert_true(frames[2].address == CODE + 2);
	/* Before Linux 5.11 the last record names no next one. */
	stack = two_frames(0);
	unwound = unwind(by_records, &stack, STACK, frames, 8);
	assert_int_equal(unwound.end, VMOP_STACK_COMPLETE);
	assert_int_equal(unwound.n_frames, 3);
}

/* Put an entry's registers into the stack, with its record. Return the record's word. */
static size_t put_entry(struct kernel_stack *stack, size_t word, uint64_t kind, uint64_t fp,
			uint64_t pc)
{
	size_t record = word + KIND_AT / 8 - 2;
	stack->words[word + REGS_FP] = fp;
	stack->words[word + REGS_PC] = pc;
	stack->words[record] = stack->words[record + 1] = 0;
	stack->words[record + 2] = kind;
	return record;
}

/* From Linux 6.13 on, an entry's record has no address: an interrupt of kernel code is no end. */
static void test_entries(void **state)
{
	struct vmop_stack_frame frames[8];
	struct kernel_stack stack = {.start = STACK};
	(void)state;
	size_t last = put_entry(&stack, 64, KIND_FINAL, 0x7ffd0000, 0x401000);
	stack.words[60] = STACK + 8 * last;
	stack.words[61] = CODE + 3;
	size_t inner = put_entry(&stack, 8, KIND_PT_REGS, STACK + 8 * 60, CODE + 2);
	stack.words[0] = STACK + 8 * inner;
	stack.words[1] = CODE + 1;
	struct vmop_kernel_unwound unwound =
		unwind(by_records_with_kinds, &stack, STACK, frames, 8);
	assert_int_equal(unwound.end, VMOP_STACK_COMPLETE);
	assert_int_equal(unwound.n_frames, 4);
	for (uint64_t i = 0; i < 4; i++) {
		assert_true(frames[i].address == CODE + i);
		assert_int_equal(frames[i].is_interrupted, i == 2);
	}
	unwound = unwind(by_records_with_kinds, &stack, STACK, frames, 2);
	assert_int_equal(unwound.end, VMOP_STACK_DEPTH_LIMIT);
	/* No such kind, and registers that are not in the stack. */
	stack.words[inner + 2] = 3;
	unwound = unwind(by_records_with_kinds, &stack, STACK, frames, 8);
	assert_int_equal(unwound.end, VMOP_STACK_TORN);
	assert_int_equal(unwound.n_frames, 2);
	stack.words[inner + 2] = KIND_PT_REGS;
	struct kernel_stack low = {.start = STACK, .words = {0, 0, KIND_PT_REGS}};
	unwound = unwind(by_records_with_kinds, &low, STACK, frames, 8);
	assert_int_equal(unwound.end, VMOP_STACK_COPY_SHORT);
	/* A circle of entries. */
	stack.words[8 + REGS_FP] = STACK + 8 * inner;
	unwound = unwind(by_records_with_kinds, &stack, STACK, frames, 8);
	assert_int_equal(unwound.end, VMOP_STACK_TORN);
	/* Earlier kernels have no such word. */
	unwound = unwind(by_records, &stack, STACK, frames, 8);
	assert_int_equal(unwound.end, VMOP_STACK_COMPLETE);
	assert_int_equal(unwound.n_frames, 2);
}

static void test_frame_pointers(void **state)
{
	struct vmop_stack_frame frames[8];
	struct kernel_stack stack = two_frames((STACK + 64) | 1);
	(void)state;
	stack.words[8 + 16] = 0x401000;
	stack.words[8 + 17] = 0x33;
	stack.words[8 + 19] = 0x7ffd0000;
	struct vmop_kernel_unwound unwound =
		unwind(vmop_kernel_frame_pointers_unwind, &stack, STACK, frames, 8);
	assert_int_equal(unwound.end, VMOP_STACK_COMPLETE);
	assert_int_equal(unwound.n_frames, 3);
	assert_true(unwound.entry.is_known && unwound.entry.pc == 0x401000);
	assert_true(unwound.entry.address == STACK + 64);
	/* A kernel thread: zeros in place of a user's registers, or no caller at all. */
	stack = two_frames((STACK + 64) | 1);
	unwound = unwind(vmop_kernel_frame_pointers_unwind, &stack, STACK, frames, 8);
	assert_int_equal(unwound.end, VMOP_STACK_COMPLETE);
	assert_int_equal(unwound.n_frames, 3);
	assert_false(unwound.entry.is_known);
	stack = two_frames(0);
	unwound = unwind(vmop_kernel_frame_pointers_unwind, &stack, STACK, frames, 8);
	assert_int_equal(unwound.end, VMOP_STACK_COMPLETE);
	assert_int_equal(unwound.n_frames, 3);
}

static void test_lies(void **state)
{
	static unwinder *const all[] = {by_records, by_records_with_kinds,
					vmop_kernel_frame_pointers_unwind};
	struct vmop_stack_frame frames[VMOP_STACK_FRAMES_MAX];
	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		struct kernel_stack stack = two_frames(STACK); /* a circle */
		struct vmop_kernel_unwound unwound =
			unwind(all[i], &stack, STACK, frames, VMOP_STACK_FRAMES_MAX);
		assert_int_equal(unwound.end, VMOP_STACK_TORN);
		assert_true(unwound.n_frames < 24);
		unwound = unwind(all[i], &stack, STACK, frames, 2);
		assert_int_equal(unwound.end, VMOP_STACK_DEPTH_LIMIT);
		assert_int_equal(unwound.n_frames, 2);
		stack = two_frames(STACK + 4); /* not aligned */
		unwound = unwind(all[i], &stack, STACK, frames, 8);
		assert_int_equal(unwound.end, VMOP_STACK_TORN);
		stack = two_frames(STACK + 4096); /* not in the stack */
		unwound = unwind(all[i], &stack, STACK, frames, 8);
		assert_int_equal(unwound.end, VMOP_STACK_COPY_SHORT);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_records), cmocka_unit_test(test_link),
		cmocka_unit_test(test_entries), cmocka_unit_test(test_frame_pointers),
		cmocka_unit_test(test_lies),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
