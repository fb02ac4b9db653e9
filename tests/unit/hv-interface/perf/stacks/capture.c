// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Call stacks in samples, made by hand in the layout of linux/perf_event.h, and their decoded form;
 * also cut and malformed ones.
 */
#include <cmocka.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/perf/stacks/capture.h"
#include "hv-interface/perf/stacks/deferred.h"

#define KERNEL_IP UINT64_C(0xffffffff81000010)
#define USER_IP UINT64_C(0x401000)

enum { MAX_FRAMES = 5, AT_BYTES = 16 }; /* AT_BYTES: a header, and a word of the fixed part */

/* The record under construction. */
static union {
	struct perf_event_header header;
	uint64_t words[8192];
} made;

static void begin(void)
{
	memset(&made, 0xee, sizeof(made));
	made.header = (struct perf_event_header){.type = PERF_RECORD_SAMPLE, .size = AT_BYTES};
}

static void add(uint64_t word)
{
	made.words[made.header.size / 8] = word;
	made.header.size += 8;
}

static void add_chain(size_t n, const uint64_t *words)
{
	add(n);
	for (size_t i = 0; i < n; i++)
		add(words[i]);
}

/* Add registers whose values are 100 and more, in the record's order. */
static void add_registers(uint64_t abi)
{
	add(abi);
	for (unsigned i = 0; abi != PERF_SAMPLE_REGS_ABI_NONE && i < VMOP_PERF_N_USER_REGS; i++)
		add(100 + i);
}

static void add_copy(uint64_t size_bytes, uint64_t copied_bytes)
{
	add(size_bytes);
	for (uint64_t i = 0; i < size_bytes; i += 8)
		add(1000 + i);
	if (size_bytes)
		add(copied_bytes);
}

static struct vmop_stack_capture decode(uint64_t sample_type)
{
	static struct vmop_perf_capture capture;
	memset(&capture, 0xdd, sizeof(capture));
	size_t end =
		vmop_perf_capture_decode(sample_type, MAX_FRAMES, &made.header, AT_BYTES, &capture);
	assert_int_equal(end, made.header.size);
	return capture.stack;
}

/*
 * Copy the record into a block of exactly its size, so that reading past its end is detected. Every
 * shorter one must be malformed.
 */
static void all_shorter_ones_are_malformed(uint64_t sample_type)
{
	for (uint16_t size = 8; size < made.header.size; size += 8) {
		struct perf_event_header *copy = malloc(size);
		struct vmop_perf_capture capture;
		memcpy(copy, &made, size);
		copy->size = size;
		assert_int_equal(
			vmop_perf_capture_decode(sample_type, MAX_FRAMES, copy, AT_BYTES, &capture),
			0);
		free(copy);
	}
}

static void is_malformed(uint64_t sample_type)
{
	struct vmop_perf_capture capture;
	assert_int_equal(
		vmop_perf_capture_decode(sample_type, MAX_FRAMES, &made.header, AT_BYTES, &capture),
		0);
}

static void a_chain_is_divided_at_its_marks(void **state)
{
	(void)state;
	const uint64_t words[] = {PERF_CONTEXT_KERNEL, KERNEL_IP, KERNEL_IP + 1,
				  PERF_CONTEXT_USER,   USER_IP,	  USER_IP + 1};
	begin();
	add_chain(6, words);
	struct vmop_stack_capture stack = decode(PERF_SAMPLE_CALLCHAIN);
	assert_int_equal(stack.n_kernel_frames, 2);
	assert_true(stack.kernel_frames[0] == KERNEL_IP && stack.kernel_frames[1] == KERNEL_IP + 1);
	assert_int_equal(stack.n_user_frames, 2);
	assert_true(stack.user_frames[0] == USER_IP && stack.user_frames[1] == USER_IP + 1);
	assert_int_equal(stack.user_end, VMOP_STACK_END_UNKNOWN);
	assert_null(stack.user_regs);
	assert_null(stack.user_stack);
	all_shorter_ones_are_malformed(PERF_SAMPLE_CALLCHAIN);
}

static void a_full_chain_ends_at_the_depth_limit(void **state)
{
	(void)state;
	const uint64_t words[] = {PERF_CONTEXT_KERNEL, KERNEL_IP, KERNEL_IP,
				  PERF_CONTEXT_USER,   USER_IP,	  USER_IP + 1,
				  USER_IP + 2};
	begin();
	add_chain(7, words);
	assert_int_equal(decode(PERF_SAMPLE_CALLCHAIN).user_end, VMOP_STACK_DEPTH_LIMIT);
}

static void other_marks_are_skipped(void **state)
{
	(void)state;
	const uint64_t words[] = {
		KERNEL_IP, /* before any mark */
		PERF_CONTEXT_GUEST_KERNEL,
		KERNEL_IP,
		PERF_CONTEXT_KERNEL,
		KERNEL_IP + 8,
		VMOP_PERF_CONTEXT_USER_DEFERRED,
		4711, /* a cookie */
		PERF_CONTEXT_KERNEL,
		KERNEL_IP + 9,
	};
	begin();
	add_chain(9, words);
	struct vmop_stack_capture stack = decode(PERF_SAMPLE_CALLCHAIN);
	assert_int_equal(stack.n_kernel_frames, 1);
	assert_true(stack.kernel_frames[0] == KERNEL_IP + 8);
	assert_int_equal(stack.n_user_frames, 0);
	assert_int_equal(stack.user_cookie, 4711);
}

static void chains_without_frames(void **state)
{
	(void)state;
	const uint64_t marks[] = {PERF_CONTEXT_KERNEL, PERF_CONTEXT_USER};
	begin();
	add_chain(0, NULL);
	assert_int_equal(decode(PERF_SAMPLE_CALLCHAIN).n_kernel_frames, 0);
	begin();
	add_chain(2, marks);
	struct vmop_stack_capture stack = decode(PERF_SAMPLE_CALLCHAIN);
	assert_int_equal(stack.n_kernel_frames, 0);
	assert_int_equal(stack.n_user_frames, 0);
}

/* Add a whole sample with a copy of 32 bytes. */
static void make_whole(uint64_t abi, uint64_t copied_bytes)
{
	const uint64_t words[] = {PERF_CONTEXT_KERNEL, KERNEL_IP};
	begin();
	add_chain(2, words);
	add_registers(abi);
	add_copy(32, copied_bytes);
}

static void registers_are_in_dwarf_order(void **state)
{
	(void)state;
	if (!VMOP_PERF_N_USER_REGS) {
		print_message("skipped: user stacks are not copied on this machine\n");
		return;
	}
	make_whole(PERF_SAMPLE_REGS_ABI_64, 24);
	struct vmop_stack_capture stack = decode(VMOP_PERF_SAMPLE_STACKS);
	assert_int_equal(stack.n_kernel_frames, 1);
	assert_non_null(stack.user_regs);
	assert_false(stack.is_compat);
#if defined(__x86_64__)
	/* enum perf_event_x86_regs against figure 3.36 of the psABI: rcx, rbx, rsp, r8, r15, rip */
	assert_int_equal(stack.user_regs[2], 102);
	assert_int_equal(stack.user_regs[3], 101);
	assert_int_equal(stack.user_regs[7], 107);
	assert_int_equal(stack.user_regs[8], 109);
	assert_int_equal(stack.user_regs[15], 116);
	assert_int_equal(stack.user_regs[16], 108);
#else
	assert_int_equal(stack.user_regs[31], 131); /* sp */
	assert_int_equal(stack.user_regs[32], 132); /* pc */
#endif
	assert_int_equal(stack.user_stack_bytes, 24);
	assert_int_equal(stack.user_stack_asked_bytes, 32);
	uint64_t second;
	memcpy(&second, stack.user_stack + 8, sizeof(second));
	assert_int_equal(second, 1008);
	all_shorter_ones_are_malformed(VMOP_PERF_SAMPLE_STACKS);
}

static void tasks_without_a_user_stack(void **state)
{
	(void)state;
	begin();
	add_chain(0, NULL);
	add_registers(PERF_SAMPLE_REGS_ABI_NONE);
	add_copy(0, 0);
	struct vmop_stack_capture stack = decode(VMOP_PERF_SAMPLE_STACKS);
	assert_null(stack.user_regs);
	assert_null(stack.user_stack);
	assert_false(stack.is_compat);
	make_whole(PERF_SAMPLE_REGS_ABI_NONE, 32); /* a copy from no known address */
	stack = decode(VMOP_PERF_SAMPLE_STACKS);
	assert_null(stack.user_stack);
	assert_int_equal(stack.user_stack_bytes, 0);
	make_whole(PERF_SAMPLE_REGS_ABI_32, 32);
	stack = decode(VMOP_PERF_SAMPLE_STACKS);
	assert_true(stack.is_compat);
	assert_null(stack.user_regs);
	assert_null(stack.user_stack);
	assert_int_equal(stack.n_kernel_frames, 1);
}

static void hostile_counts_are_malformed(void **state)
{
	(void)state;
	static const uint64_t counts[] = {3, 1 << 13, UINT64_C(1) << 61, UINT64_MAX};
	for (size_t i = 0; i < sizeof(counts) / sizeof(counts[0]); i++) {
		begin();
		add(counts[i]);
		add(KERNEL_IP);
		add(KERNEL_IP);
		is_malformed(PERF_SAMPLE_CALLCHAIN);
		begin();
		add(counts[i]);
		add(0);
		add(0);
		is_malformed(PERF_SAMPLE_STACK_USER);
	}
	begin(); /* more copied than reserved */
	add_copy(16, 24);
	is_malformed(PERF_SAMPLE_STACK_USER);
	begin();
	add_copy(16, UINT64_MAX);
	is_malformed(PERF_SAMPLE_STACK_USER);
	begin(); /* a size that is no multiple of 8 */
	add(12);
	add(0);
	add(8);
	is_malformed(PERF_SAMPLE_STACK_USER);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_chain_is_divided_at_its_marks),
		cmocka_unit_test(a_full_chain_ends_at_the_depth_limit),
		cmocka_unit_test(other_marks_are_skipped),
		cmocka_unit_test(chains_without_frames),
		cmocka_unit_test(registers_are_in_dwarf_order),
		cmocka_unit_test(tasks_without_a_user_stack),
		cmocka_unit_test(hostile_counts_are_malformed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
