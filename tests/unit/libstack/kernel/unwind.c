// SPDX-License-Identifier: GPL-2.0-or-later
/* Kernel stacks by frame pointers (x86-64) and frame records (arm64). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "libstack/kernel/unwind.h"
#include "tests/unit/libstack/kernel/stack.h"

#define STACK UINT64_C(0xffffc90000010000)
#define CODE UINT64_C(0xffffffff81000000)

typedef void unwinder(const struct vmop_kernel_regs *regs, const struct vmop_kernel_memory *memory,
		      struct vmop_stack_frame *frames, size_t max, struct vmop_kernel_unwound *ret);

static void by_records(const struct vmop_kernel_regs *regs, const struct vmop_kernel_memory *memory,
		       struct vmop_stack_frame *frames, size_t max, struct vmop_kernel_unwound *ret)
{
	vmop_frame_records_unwind(regs, 48, memory, frames, max, ret);
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
	static unwinder *const all[] = {by_records, vmop_kernel_frame_pointers_unwind};
	struct vmop_stack_frame frames[VMOP_STACK_FRAMES_MAX];
	(void)state;
	for (size_t i = 0; i < 2; i++) {
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
		cmocka_unit_test(test_records),
		cmocka_unit_test(test_frame_pointers),
		cmocka_unit_test(test_lies),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
