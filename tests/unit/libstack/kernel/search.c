// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stacks of a kernel without their stack pointer, in hand-made code:
 * tests/unit/daemon/guest/stacks/ sample-live.c measures it on real ones.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "libstack/kernel/orc.h"
#include "libstack/kernel/search.h"
#include "tests/unit/libstack/kernel/stack.h"

#define TEXT UINT64_C(0xffffffff81000000)
#define TABLE UINT64_C(0xffffffff82000000)
#define STACK UINT64_C(0xffffc90000010000)

/* Functions of 64 bytes, each with its return address 8 bytes above the stack pointer. */
enum { LEAF, CALLER, OTHER, TAIL, ENTRY, COLD, N_FUNCTIONS, FUNCTION_BYTES = 64 };

/* A symbol in the middle of the last one, which no jump goes to. */
#define LABEL (TEXT + (COLD * FUNCTION_BYTES) + 41)

struct world {
	uint8_t code[N_FUNCTIONS * FUNCTION_BYTES];
	struct kernel_stack stack;
	struct vmop_orc *orc;
	struct vmop_kernel_searcher *searcher;
};

static uint64_t start_of(unsigned function)
{
	return TEXT + (uint64_t)function * FUNCTION_BYTES;
}

static const uint8_t *find_code(void *arg, uint64_t address, size_t len_bytes)
{
	const struct world *world = arg;
	uint64_t offset = address - TEXT;
	if (offset > sizeof(world->code) || len_bytes > sizeof(world->code) - offset)
		return NULL;
	return world->code + offset;
}

static bool find_function(void *arg, uint64_t address, struct vmop_kernel_function *ret)
{
	unsigned function = (unsigned)((address - TEXT) / FUNCTION_BYTES);
	(void)arg;
	if (address < TEXT || function >= N_FUNCTIONS)
		return false;
	if (function == COLD && address >= LABEL) {
		*ret = (struct vmop_kernel_function){.start = LABEL, .end = start_of(COLD + 1)};
		return true;
	}
	*ret = (struct vmop_kernel_function){.start = start_of(function),
					     .end = function == COLD ? LABEL
								     : start_of(function + 1),
					     .is_cold = function == COLD,
					     .is_only_named = function == OTHER};
	return true;
}

/* Write `CALL target` or `JMP target` at an offset of a function. Return the address behind it. */
static uint64_t write_branch(struct world *world, unsigned function, unsigned offset,
			     uint8_t opcode, uint64_t target)
{
	uint64_t end = start_of(function) + offset + 5;
	int32_t relative = (int32_t)(target - end);
	uint8_t *at = world->code + (start_of(function) - TEXT) + offset;
	at[0] = opcode;
	memcpy(at + 1, &relative, sizeof(relative));
	return end;
}

/* Write `CALL *rax`, likewise. */
static uint64_t write_indirect(struct world *world, unsigned function, unsigned offset)
{
	uint8_t *at = world->code + (start_of(function) - TEXT) + offset;
	at[0] = 0xff;
	at[1] = 0xd0;
	return start_of(function) + offset + 2;
}

static struct vmop_orc *make_orc(void)
{
	enum { CALL = 2, REGS = 3, SP = 5 };
	static const struct vmop_orc_format format = {.type_bit = 40, .type_bits = 3};
	uint8_t ips[4 * N_FUNCTIONS], entries[6 * N_FUNCTIONS];
	for (unsigned i = 0; i < N_FUNCTIONS; i++) {
		bool is_entry = i == ENTRY;
		uint64_t bits = (uint64_t)SP << 32 | (uint64_t)(is_entry ? REGS : CALL) << 40;
		bits |= is_entry ? 0 : i == LEAF || i == TAIL || i == COLD ? 8 : 16;
		int32_t relative = (int32_t)(start_of(i) - (TABLE + 4 * i));
		memcpy(ips + 4 * i, &relative, 4);
		memcpy(entries + 6 * i, &bits, 6);
	}
	const struct vmop_orc_section section = {.text_start = TEXT,
						 .text_end = start_of(N_FUNCTIONS),
						 .ip_address = TABLE,
						 .n = N_FUNCTIONS,
						 .ips = ips,
						 .entries = entries};
	struct vmop_orc *orc;
	assert_null(vmop_orc_create(&format, &section, 1, &orc));
	return orc;
}

static int begin(void **state)
{
	struct world *world = calloc(1, sizeof(*world));
	world->stack.start = STACK;
	world->orc = make_orc();
	assert_null(vmop_kernel_searcher_create(&world->searcher));
	*state = world;
	return 0;
}

static int end(void **state)
{
	struct world *world = *state;
	vmop_kernel_searcher_destroy(world->searcher);
	vmop_orc_destroy(world->orc);
	free(world);
	return 0;
}

/* Put saved registers of user code at a word of the stack. */
static void put_user_regs(struct world *world, size_t word)
{
	world->stack.words[word + 16] = 0x401000;
	world->stack.words[word + 17] = 0x33;
	world->stack.words[word + 19] = 0x7ffd0000;
}

static bool search_in(struct world *world, bool has_all_stacks, uint64_t pc,
		      struct vmop_kernel_unwound *ret, struct vmop_stack_frame *frames,
		      struct vmop_kernel_found *found)
{
	const struct vmop_kernel_text text = {
		.code = find_code, .find_function = find_function, .arg = world};
	const struct vmop_kernel_search what = {
		.orc = world->orc,
		.regs = {.pc = pc, .is_interrupted = true},
		.memory = {.read = kernel_stack_read, .arg = &world->stack},
		.text = &text,
		.stacks = {{STACK, STACK + sizeof(world->stack.words)}},
		.n_stacks = 1,
		.has_all_stacks = has_all_stacks,
		.has_user = true,
		.user_pc = 0x401000,
		.user_sp = 0x7ffd0000,
	};
	return vmop_kernel_search(world->searcher, &what, frames, 8, ret, found);
}

static bool search(struct world *world, uint64_t pc, struct vmop_kernel_unwound *ret,
		   struct vmop_stack_frame *frames, struct vmop_kernel_found *found)
{
	return search_in(world, true, pc, ret, frames, found);
}

/* A leaf called by name, below it remains of its call by another function. */
static void the_call_of_the_function_wins(void **state)
{
	struct world *world = *state;
	struct vmop_kernel_unwound unwound;
	struct vmop_kernel_found found;
	struct vmop_stack_frame frames[8];
	uint64_t in_caller = write_branch(world, CALLER, 8, 0xe8, start_of(LEAF));
	uint64_t in_other = write_branch(world, OTHER, 8, 0xe8, start_of(TAIL));
	uint64_t in_entry = write_branch(world, ENTRY, 8, 0xe8, start_of(CALLER));
	world->stack.words[20] = in_caller;
	world->stack.words[22] = in_entry;
	put_user_regs(world, 23);
	/* A remain whose chain ends at the same registers, but does not call the leaf. */
	world->stack.words[10] = in_other;
	world->stack.words[12] = in_entry;
	assert_true(search(world, start_of(LEAF) + 4, &unwound, frames, &found));
	assert_int_equal(unwound.end, VMOP_STACK_COMPLETE);
	assert_int_equal(unwound.n_frames, 3);
	assert_true(frames[1].address == in_caller && frames[2].address == in_entry);
	assert_true(found.sp == STACK + 160);
	assert_int_equal(found.n_mismatches, 0);
	assert_false(found.is_certain);
	/* Without it, a stack is left that calls another function. */
	world->stack.words[20] = 0;
	assert_true(search(world, start_of(LEAF) + 4, &unwound, frames, &found));
	assert_true(unwound.n_frames == 2 && frames[1].address == in_entry);
	assert_int_equal(found.n_mismatches, 1);
	assert_false(search_in(world, false, start_of(LEAF) + 4, &unwound, frames, &found));
	world->stack.words[22] = 0;
	assert_false(search(world, start_of(LEAF) + 4, &unwound, frames, &found));
	assert_int_equal(unwound.end, VMOP_STACK_NOT_RECORDED);
	assert_int_equal(unwound.n_frames, 1);
}

static void tail_calls_are_followed(void **state)
{
	static const uint8_t long_jump = 0xe9;
	struct world *world = *state;
	static struct vmop_kernel_calls calls;
	const struct vmop_kernel_text text = {
		.code = find_code, .find_function = find_function, .arg = world};
	calls.bytes_left = 4096;
	assert_true(vmop_kernel_call_reaches(&calls, &text, start_of(LEAF), start_of(LEAF) + 9));
	assert_false(vmop_kernel_call_reaches(&calls, &text, start_of(LEAF), start_of(TAIL)));
	/* LEAF -> OTHER -> TAIL, and into the middle of COLD; a short jump likewise. */
	write_branch(world, LEAF, 30, long_jump, start_of(OTHER));
	write_branch(world, OTHER, 59, long_jump, start_of(TAIL));
	world->code[TAIL * FUNCTION_BYTES + 62] = 0xeb;
	world->code[TAIL * FUNCTION_BYTES + 63] = 0;
	write_branch(world, OTHER, 20, long_jump, start_of(COLD) + 7);
	write_branch(world, OTHER, 30, long_jump, start_of(CALLER) + 7);
	memset(&calls, 0, sizeof(calls));
	calls.bytes_left = 4096;
	assert_true(vmop_kernel_call_reaches(&calls, &text, start_of(LEAF), start_of(TAIL) + 1));
	assert_true(vmop_kernel_call_reaches(&calls, &text, start_of(LEAF), start_of(COLD)));
	assert_true(vmop_kernel_call_reaches(&calls, &text, start_of(TAIL), start_of(ENTRY)));
	assert_false(vmop_kernel_call_reaches(&calls, &text, start_of(LEAF), start_of(CALLER)));
	/* Give no answer where the work is used up, and keep none. */
	memset(&calls, 0, sizeof(calls));
	assert_false(vmop_kernel_call_reaches(&calls, &text, start_of(LEAF), start_of(TAIL)));
	calls.bytes_left = 4096;
	assert_true(vmop_kernel_call_reaches(&calls, &text, start_of(LEAF), start_of(TAIL)));
}

static void code_runs_on_into_a_label(void **state)
{
	static struct vmop_kernel_calls calls;
	struct world *world = *state;
	const struct vmop_kernel_text text = {
		.code = find_code, .find_function = find_function, .arg = world};
	calls.bytes_left = 4096;
	assert_true(vmop_kernel_call_reaches(&calls, &text, start_of(COLD), LABEL + 3));
	memset(&calls, 0, sizeof(calls));
	calls.bytes_left = 4096;
	world->code[LABEL - TEXT - 1] = 0xc3;
	assert_false(vmop_kernel_call_reaches(&calls, &text, start_of(COLD), LABEL + 3));
}

/* Several ways lead to the user's registers; the lowest one through a function with a name. */
static void a_named_function_is_not_called_by_a_pointer(void **state)
{
	struct world *world = *state;
	struct vmop_kernel_unwound unwound;
	struct vmop_kernel_found found;
	struct vmop_stack_frame frames[8];
	uint64_t in_caller = write_indirect(world, CALLER, 8);
	uint64_t in_other = write_indirect(world, OTHER, 8);
	uint64_t in_entry = write_branch(world, ENTRY, 8, 0xe8, start_of(CALLER));
	world->stack.words[20] = in_caller;
	world->stack.words[22] = in_entry;
	put_user_regs(world, 23);
	world->stack.words[18] = in_other; /* its own return address was overwritten since */
	assert_true(search(world, start_of(LEAF) + 4, &unwound, frames, &found));
	assert_int_equal(found.n_possible, 3);
	assert_int_equal(unwound.n_frames, 3);
	assert_true(frames[1].address == in_caller);
}

/* Make a leaf that CALLER has called by a pointer, with its return address at word 20. */
static uint64_t put_called_leaf(struct world *world)
{
	uint64_t in_caller = write_indirect(world, CALLER, 8);
	world->stack.words[20] = in_caller;
	world->stack.words[22] = write_branch(world, ENTRY, 8, 0xe8, start_of(CALLER));
	put_user_regs(world, 23);
	return in_caller;
}

/* Below a call by a pointer lie the remains of the same function's call by name. */
static void remains_of_a_call_by_name_are_not_taken(void **state)
{
	struct world *world = *state;
	struct vmop_kernel_unwound unwound;
	struct vmop_kernel_found found;
	struct vmop_stack_frame frames[8];
	uint64_t in_caller = put_called_leaf(world), in_tail = write_indirect(world, TAIL, 8);
	world->stack.words[19] = in_tail;
	assert_true(search(world, start_of(LEAF) + 4, &unwound, frames, &found));
	assert_true(unwound.n_frames == 4 && frames[1].address == in_tail);
	write_branch(world, CALLER, 20, 0xe8, start_of(TAIL));
	vmop_kernel_searcher_reset(world->searcher);
	assert_true(search(world, start_of(LEAF) + 4, &unwound, frames, &found));
	assert_true(unwound.n_frames == 3 && frames[1].address == in_caller);
	assert_int_equal(found.n_mismatches, 0);
}

/* The leaf has just called another function, whose remains lead back to the leaf. */
static void remains_of_the_leafs_own_calls_are_not_taken(void **state)
{
	struct world *world = *state;
	struct vmop_kernel_unwound unwound;
	struct vmop_kernel_found found;
	struct vmop_stack_frame frames[8];
	uint64_t in_caller = put_called_leaf(world);
	uint64_t in_leaf = write_branch(world, LEAF, 4, 0xe8, start_of(TAIL));
	world->stack.words[19] = in_leaf;
	world->stack.words[18] = write_indirect(world, TAIL, 8);
	assert_true(search(world, in_leaf, &unwound, frames, &found));
	assert_true(found.n_possible >= 2 && unwound.n_frames == 3);
	assert_true(found.sp == STACK + 160 && frames[1].address == in_caller);
}

static void all_forms_of_calls_are_found(void **state)
{
	static const struct {
		uint8_t n, bytes[7];
	} indirect[] = {
		{2, {0xff, 0xd0}},			/* *rax */
		{3, {0x41, 0xff, 0xd3}},		/* *r11 */
		{2, {0xff, 0x13}},			/* *(rbx) */
		{3, {0xff, 0x14, 0xc8}},		/* *(rax,rcx,8) */
		{3, {0xff, 0x50, 0x08}},		/* *8(rax) */
		{4, {0xff, 0x54, 0x24, 0x08}},		/* *8(rsp) */
		{6, {0xff, 0x90, 1, 0, 0, 0}},		/* *1(rax) */
		{6, {0xff, 0x15, 1, 0, 0, 0}},		/* *1(rip) */
		{7, {0xff, 0x94, 0xc8, 1, 0, 0, 0}},	/* *1(rax,rcx,8) */
		{7, {0xff, 0x14, 0xc5, 0, 0, 0, 0x81}}, /* *table(,rax,8) */
	};
	struct world *world = *state;
	const struct vmop_kernel_text text = {
		.code = find_code, .find_function = find_function, .arg = world};
	uint64_t target;
	for (size_t i = 0; i < sizeof(indirect) / sizeof(indirect[0]); i++) {
		memset(world->code, 0x90, sizeof(world->code));
		memcpy(world->code + 16, indirect[i].bytes, indirect[i].n);
		assert_int_equal(vmop_kernel_call_before(&text, TEXT + 16 + indirect[i].n, &target),
				 VMOP_KERNEL_CALL_INDIRECT);
		assert_int_equal(vmop_kernel_call_before(&text, TEXT + 32, &target),
				 VMOP_KERNEL_CALL_NONE);
	}
	uint64_t address = write_branch(world, CALLER, 8, 0xe8, start_of(OTHER));
	assert_int_equal(vmop_kernel_call_before(&text, address, &target), VMOP_KERNEL_CALL_DIRECT);
	assert_true(target == start_of(OTHER));
	/* A thunk: lfence; jmp *r11, and a retpoline. */
	static const uint8_t thunk[] = {0x0f, 0xae, 0xe8, 0x41, 0xff, 0xe3};
	memcpy(world->code + OTHER * FUNCTION_BYTES, thunk, sizeof(thunk));
	assert_int_equal(vmop_kernel_call_before(&text, address, &target),
			 VMOP_KERNEL_CALL_INDIRECT);
	static const uint8_t retpoline[] = {0xe8, 7, 0, 0, 0, 0xf3, 0x90};
	memcpy(world->code + OTHER * FUNCTION_BYTES, retpoline, sizeof(retpoline));
	assert_int_equal(vmop_kernel_call_before(&text, address, &target),
			 VMOP_KERNEL_CALL_INDIRECT);
	assert_int_equal(vmop_kernel_call_before(&text, TEXT - 64, &target),
			 VMOP_KERNEL_CALL_UNKNOWN);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(the_call_of_the_function_wins, begin, end),
		cmocka_unit_test_setup_teardown(tail_calls_are_followed, begin, end),
		cmocka_unit_test_setup_teardown(a_named_function_is_not_called_by_a_pointer, begin,
						end),
		cmocka_unit_test_setup_teardown(code_runs_on_into_a_label, begin, end),
		cmocka_unit_test_setup_teardown(remains_of_a_call_by_name_are_not_taken, begin,
						end),
		cmocka_unit_test_setup_teardown(remains_of_the_leafs_own_calls_are_not_taken, begin,
						end),
		cmocka_unit_test_setup_teardown(all_forms_of_calls_are_found, begin, end),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
