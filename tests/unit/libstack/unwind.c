// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The unwinder over hand-made stacks and rules of x86-64 (unwind-arm64.c: arm64). The stacks of
 * real programs are in live.c.
 */
#include "world.h"

enum { RBX = 3, RBP = 6, RSP = 7, RIP = 16 };

/* Rules as compilers make them: by the stack pointer, with the return address at CFA - 8. */
#define BY_RSP(offset)                                                                             \
	{                                                                                          \
		.kind = VMOP_CFI_REGISTER, .cfa_register = RSP, .cfa_offset = (offset),            \
		.ra_saved = VMOP_CFI_AT_CFA, .ra_offset = -8, .extra_saved = VMOP_CFI_LOST         \
	}
#define BY_RSP_WITH_RBP(offset)                                                                    \
	{                                                                                          \
		.kind = VMOP_CFI_REGISTER, .cfa_register = RSP, .cfa_offset = (offset),            \
		.ra_saved = VMOP_CFI_AT_CFA, .ra_offset = -8, .fp_saved = VMOP_CFI_AT_CFA,         \
		.fp_offset = -16, .extra_saved = VMOP_CFI_LOST                                     \
	}
#define BY_RBP                                                                                     \
	{                                                                                          \
		.kind = VMOP_CFI_REGISTER, .cfa_register = RBP, .cfa_offset = 16,                  \
		.ra_saved = VMOP_CFI_AT_CFA, .ra_offset = -8, .fp_saved = VMOP_CFI_AT_CFA,         \
		.fp_offset = -16, .extra_saved = VMOP_CFI_LOST                                     \
	}
#define BY_RBX                                                                                     \
	{                                                                                          \
		.kind = VMOP_CFI_REGISTER, .cfa_register = RBX, .cfa_offset = 16,                  \
		.ra_saved = VMOP_CFI_AT_CFA, .ra_offset = -8, .extra_saved = VMOP_CFI_LOST         \
	}
#define OF_KIND(a_kind)                                                                            \
	{                                                                                          \
		.kind = (a_kind), .ra_saved = VMOP_CFI_AT_CFA, .ra_offset = -8,                    \
		.extra_saved = VMOP_CFI_LOST                                                       \
	}

/*
 * The functions of the process. 0x100: leaf; 0x200: 3 words of locals; 0x300: frame pointer; 0x400:
 * outermost; 0x500: CFA by rbx; 0x600: CFA in memory; 0x700: PLT; 0x800: signal trampoline; 0x900:
 * no CFI; 0xa00: expression.
 */
static void set_usual_rows(struct world *world)
{
	set_rows(world, {AT(0x100), BY_RSP(8)}, {AT(0x200), BY_RSP(32)}, {AT(0x300), BY_RBP},
		 {AT(0x400), OF_KIND(VMOP_CFI_END)}, {AT(0x500), BY_RBX},
		 {AT(0x600),
		  {.kind = VMOP_CFI_DEREF,
		   .cfa_register = RSP,
		   .cfa_offset = 8,
		   .cfa_addend = 16,
		   .ra_saved = VMOP_CFI_AT_CFA,
		   .ra_offset = -8}},
		 {AT(0x700),
		  {.kind = VMOP_CFI_PLT,
		   .cfa_register = RSP,
		   .cfa_offset = 11,
		   .ra_saved = VMOP_CFI_AT_CFA,
		   .ra_offset = -8}},
		 {AT(0x7f0), OF_KIND(VMOP_CFI_NONE)}, {AT(0x800), OF_KIND(VMOP_CFI_SIGNAL)},
		 {AT(0x900), OF_KIND(VMOP_CFI_NONE)}, {AT(0xa00), OF_KIND(VMOP_CFI_EXPRESSION)});
}

static struct world usual_world(uint64_t rip)
{
	struct world world = world_new(EM_X86_64);
	set_usual_rows(&world);
	world.regs[RIP] = rip;
	return world;
}

static void rules(void **state)
{
	struct world world = usual_world(CODE + 0x110);
	(void)state;
	world.regs[RBP] = WORD(10);
	world.stack[0] = CODE + 0x220;	/* the leaf's return address */
	world.stack[4] = CODE + 0x330;	/* behind 3 words of locals */
	world.stack[10] = WORD(20);	/* the caller's frame pointer */
	world.stack[11] = CODE + 0x340; /* the same function: a recursion */
	world.stack[20] = 0;
	world.stack[21] = CODE + 0x410;
	expect(&world, VMOP_STACK_COMPLETE, CODE + 0x110, CODE + 0x220, CODE + 0x330, CODE + 0x340,
	       CODE + 0x410);
	assert_true(world.frames[0].is_interrupted);
	assert_false(world.frames[1].is_interrupted);
	assert_int_equal(world.unwound.n_by_frame_pointer + world.unwound.n_by_expression, 0);
}

/* A call as the last instruction of its function: the return address is in the next function. */
static void call_at_the_end(void **state)
{
	struct world world = usual_world(CODE + 0x110);
	(void)state;
	world.stack[0] = CODE + 0x300;
	world.stack[4] = CODE + 0x500; /* behind the outermost function */
	expect(&world, VMOP_STACK_COMPLETE, CODE + 0x110, CODE + 0x300, CODE + 0x500);
}

/* Behind `pop %rbp`: the rule still finds it on the stack, at a place that is free now. */
static void epilogue(void **state)
{
	struct world world = world_new(EM_X86_64);
	(void)state;
	set_rows(&world, {AT(0x100), BY_RSP_WITH_RBP(8)}, {AT(0x300), BY_RBP},
		 {AT(0x400), OF_KIND(VMOP_CFI_END)});
	world.regs[RIP] = CODE + 0x110;
	world.regs[RBP] = WORD(5);
	world.stack[0] = CODE + 0x310;
	world.stack[6] = CODE + 0x410;
	expect(&world, VMOP_STACK_COMPLETE, CODE + 0x110, CODE + 0x310, CODE + 0x410);
}

static void frame_pointer_elsewhere(void **state)
{
	struct world world = world_new(EM_X86_64);
	(void)state;
	set_rows(&world,
		 {AT(0x100),
		  {.kind = VMOP_CFI_DEREF,
		   .cfa_register = RBP,
		   .cfa_offset = -8,
		   .ra_saved = VMOP_CFI_AT_CFA,
		   .ra_offset = -8,
		   .fp_saved = VMOP_CFI_AT_FP}},
		 {AT(0x300), BY_RBP}, {AT(0x400), OF_KIND(VMOP_CFI_END)},
		 {AT(0x500),
		  {.kind = VMOP_CFI_REGISTER,
		   .cfa_register = RSP,
		   .cfa_offset = 16,
		   .ra_saved = VMOP_CFI_AT_CFA,
		   .ra_offset = -8,
		   .fp_saved = VMOP_CFI_LOST}});
	/* An aligned frame, as gcc makes it: its CFA is in memory, below the frame pointer. */
	world.regs[RIP] = CODE + 0x110;
	world.regs[RBP] = WORD(2);
	world.stack[1] = WORD(8);
	world.stack[2] = WORD(12);
	world.stack[7] = CODE + 0x310;
	world.stack[13] = CODE + 0x410;
	expect(&world, VMOP_STACK_COMPLETE, CODE + 0x110, CODE + 0x310, CODE + 0x410);
	/* A function that used the register for something else. */
	world.regs[RIP] = CODE + 0x510;
	world.stack[1] = CODE + 0x310;
	expect(&world, VMOP_STACK_NO_CFI, CODE + 0x510, CODE + 0x310);
}

static void stubs(void **state)
{
	struct world world = usual_world(CODE + 0x706);
	(void)state;
	world.stack[0] = CODE + 0x410;
	world.stack[1] = CODE + 0x420;
	expect(&world, VMOP_STACK_COMPLETE, CODE + 0x706, CODE + 0x410);
	world.regs[RIP] = CODE + 0x70b; /* it pushed a word */
	expect(&world, VMOP_STACK_COMPLETE, CODE + 0x70b, CODE + 0x420);
}

static void frame_address_in_memory(void **state)
{
	struct world world = usual_world(CODE + 0x610);
	(void)state;
	world.stack[1] = WORD(10);
	world.stack[11] = CODE + 0x410;
	expect(&world, VMOP_STACK_COMPLETE, CODE + 0x610, CODE + 0x410);
	world.stack[1] = WORD(N_WORDS + 9); /* farther than the copy */
	expect(&world, VMOP_STACK_COPY_SHORT, CODE + 0x610);
}

/* Only the innermost frame has all registers. */
static void other_registers(void **state)
{
	struct world world = usual_world(CODE + 0x510);
	(void)state;
	world.regs[RBX] = WORD(10);
	world.stack[11] = CODE + 0x410;
	expect(&world, VMOP_STACK_COMPLETE, CODE + 0x510, CODE + 0x410);
	world.stack[11] = CODE + 0x520;
	expect(&world, VMOP_STACK_NO_CFI, CODE + 0x510, CODE + 0x520);
}

/* In an image with functions whose CFA is rbx, rows have the place of the saved rbx. */
static void saved_rbx(void **state)
{
	struct world world = usual_world(CODE + 0x220);
	(void)state;
	set_rows(&world,
		 {AT(0x100),
		  {.kind = VMOP_CFI_REGISTER,
		   .cfa_register = RSP,
		   .cfa_offset = 8,
		   .ra_saved = VMOP_CFI_AT_CFA,
		   .ra_offset = -8}},
		 {AT(0x200),
		  {.kind = VMOP_CFI_REGISTER,
		   .cfa_register = RSP,
		   .cfa_offset = 32,
		   .ra_saved = VMOP_CFI_AT_CFA,
		   .ra_offset = -8,
		   .extra_saved = VMOP_CFI_AT_CFA,
		   .extra_offset = -16}},
		 {AT(0x400), OF_KIND(VMOP_CFI_END)}, {AT(0x500), BY_RBX});
	world.stack[2] = WORD(20); /* rbx of the caller */
	world.stack[3] = CODE + 0x510;
	world.stack[21] = CODE + 0x410;
	expect(&world, VMOP_STACK_COMPLETE, CODE + 0x220, CODE + 0x510, CODE + 0x410);
	/* A frame in between keeps rbx. */
	world.stack[3] = CODE + 0x110;
	world.stack[4] = CODE + 0x510;
	expect(&world, VMOP_STACK_COMPLETE, CODE + 0x220, CODE + 0x110, CODE + 0x510, CODE + 0x410);
	world.regs[RIP] = CODE + 0x110;
	world.regs[RBX] = WORD(20);
	world.stack[0] = CODE + 0x510;
	expect(&world, VMOP_STACK_COMPLETE, CODE + 0x110, CODE + 0x510, CODE + 0x410);
	world.regs[RBX] = WORD(0); /* not above the frame */
	expect(&world, VMOP_STACK_TORN, CODE + 0x110, CODE + 0x510);
}

enum { UC_REGS = 5, UC_RBX = UC_REGS + 11, UC_RBP = UC_REGS + 10, UC_RSP = UC_REGS + 15 };
enum { UC_RIP = UC_REGS + 16, UC_CS = UC_REGS + 18 };

/* Put the frame of a signal at stack[at], where the handler's return address is. */
static void put_signal_frame(struct world *world, size_t at, uint64_t trampoline, uint64_t rip,
			     uint64_t rsp)
{
	uint64_t *context = &world->stack[at + 1];
	world->stack[at] = trampoline;
	context[0] = 7;
	context[UC_RBX] = rsp + 8;
	context[UC_RBP] = rsp + 80;
	context[UC_RSP] = rsp;
	context[UC_RIP] = rip;
	context[UC_CS] = 0x2b000000000033;
}

static void signals(void **state)
{
	struct world world = usual_world(CODE + 0x110);
	(void)state;
	/* The return address is the first instruction of a trampoline without a nop before it. */
	put_signal_frame(&world, 0, CODE + 0x800, CODE + 0x500, WORD(100));
	world.stack[102] = CODE + 0x410;
	expect(&world, VMOP_STACK_COMPLETE, CODE + 0x110, CODE + 0x800, CODE + 0x500, CODE + 0x410);
	assert_false(world.frames[1].is_interrupted);
	assert_true(world.frames[2].is_interrupted);
	assert_false(world.frames[3].is_interrupted);
	put_signal_frame(&world, 0, CODE + 0x910, CODE + 0x500, WORD(100)); /* without CFI */
	expect(&world, VMOP_STACK_COMPLETE, CODE + 0x110, CODE + 0x910, CODE + 0x500, CODE + 0x410);
	world.stack[1 + UC_CS] = 0x1234; /* no signal frame, and no frame pointer either */
	expect(&world, VMOP_STACK_NO_CFI, CODE + 0x110, CODE + 0x910);
	/* Interrupted in the trampoline itself. */
	put_signal_frame(&world, 0, 0, CODE + 0x500, WORD(100));
	world.regs[RIP] = CODE + 0x807;
	world.regs[RSP] = WORD(1);
	memmove(world.stack, world.stack + 1, sizeof(world.stack) - 8); /* the copy begins there */
	expect(&world, VMOP_STACK_COMPLETE, CODE + 0x807, CODE + 0x500, CODE + 0x410);
}

static void signal_stacks(void **state)
{
	struct world world = usual_world(CODE + 0x110);
	(void)state;
	/* The interrupted stack is not in the copy, above or below it. */
	put_signal_frame(&world, 0, CODE + 0x810, CODE + 0x500, STACK + (UINT64_C(1) << 40));
	expect(&world, VMOP_STACK_COPY_SHORT, CODE + 0x110, CODE + 0x810, CODE + 0x500);
	put_signal_frame(&world, 0, CODE + 0x810, CODE + 0x500, STACK - 0x100000);
	world.capture.user_stack_asked_bytes *= 2;
	expect(&world, VMOP_STACK_COPY_SHORT, CODE + 0x110, CODE + 0x810, CODE + 0x500);
	/* A frame that claims to have interrupted itself. */
	put_signal_frame(&world, 0, CODE + 0x810, CODE + 0x500, STACK);
	expect(&world, VMOP_STACK_TORN, CODE + 0x110, CODE + 0x810);
	/* Cut by the end of the copy. */
	put_signal_frame(&world, 0, CODE + 0x810, CODE + 0x500, WORD(100));
	world.capture.user_stack_bytes = 100;
	world.capture.user_stack_asked_bytes = 100;
	expect(&world, VMOP_STACK_COPY_SHORT, CODE + 0x110, CODE + 0x810);
}

static void ends(void **state)
{
	struct world world = usual_world(CODE + 0x110);
	(void)state;
	world.stack[0] = 0; /* overwritten */
	expect(&world, VMOP_STACK_TORN, CODE + 0x110);
	world.table.ends_with_zero = true; /* as in Go's programs */
	expect(&world, VMOP_STACK_COMPLETE, CODE + 0x110);
	world.table.ends_with_zero = false;
	world.stack[0] = 0x123456; /* no code */
	expect(&world, VMOP_STACK_TORN, CODE + 0x110);
	world.stack[0] = UINT64_C(0xffffffffff600400); /* vsyscall */
	expect(&world, VMOP_STACK_TORN, CODE + 0x110);
	world.stack[0] = UNREADABLE + 0x20;
	expect(&world, VMOP_STACK_UNREADABLE, CODE + 0x110, UNREADABLE + 0x20);
	world.stack[0] = PENDING + 0x20;
	expect(&world, VMOP_STACK_TABLE_LATE, CODE + 0x110, PENDING + 0x20);
	assert_int_equal(world.unwound.pending_address, PENDING + 0x1f);
	world.regs[RIP] = 0x10;
	expect(&world, VMOP_STACK_TORN, 0x10);
	world.regs[RIP] = CODE + 0x110;
	world.capture.is_compat = true;
	expect(&world, VMOP_STACK_NO_CFI, CODE + 0x110);
}

static void entry_points(void **state)
{
	struct world world = usual_world(CODE + 0x910);
	(void)state;
	world.regs[RBP] = 1;
	expect(&world, VMOP_STACK_NO_CFI, CODE + 0x910);
	world.table.is_partial = true;
	expect(&world, VMOP_STACK_UNREADABLE, CODE + 0x910);
	world.table.is_partial = false;
	world.table.entry_start = AT(0x900);
	world.table.entry_end = AT(0x940);
	expect(&world, VMOP_STACK_COMPLETE, CODE + 0x910);
	/* With CFI that finds the number of arguments instead of a return address. */
	world.table.entry_start = AT(0x100);
	world.table.entry_end = AT(0x140);
	world.regs[RIP] = CODE + 0x110;
	world.stack[0] = 1;
	expect(&world, VMOP_STACK_COMPLETE, CODE + 0x110);
	world.stack[0] = CODE + 0x220; /* a function that was called */
	world.stack[4] = CODE + 0x410;
	expect(&world, VMOP_STACK_COMPLETE, CODE + 0x110, CODE + 0x220, CODE + 0x410);
}

static void depth(void **state)
{
	struct world world = usual_world(CODE + 0x110);
	(void)state;
	for (size_t i = 0; i < 3; i++)
		world.stack[i] = CODE + 0x120;
	world.stack[3] = CODE + 0x410;
	assert_int_equal(world_unwind(&world, 5), VMOP_STACK_COMPLETE);
	assert_int_equal(world.unwound.n_frames, 5);
	assert_int_equal(world_unwind(&world, 4), VMOP_STACK_DEPTH_LIMIT);
	assert_int_equal(world.unwound.n_frames, 4);
	assert_int_equal(world.frames[4].address, UINT64_C(0xeeeeeeeeeeeeeeee));
	assert_int_equal(world_unwind(&world, 1), VMOP_STACK_DEPTH_LIMIT);
	assert_int_equal(world.unwound.n_frames, 1);
}

static void short_copies(void **state)
{
	struct world world = usual_world(CODE + 0x210);
	(void)state;
	world.stack[3] = CODE + 0x310;
	world.regs[RBP] = WORD(N_WORDS - 1); /* half of the two words is in the copy */
	expect(&world, VMOP_STACK_COPY_SHORT, CODE + 0x210, CODE + 0x310);
	world.regs[RBP] = STACK - 16; /* below the stack */
	expect(&world, VMOP_STACK_TORN, CODE + 0x210, CODE + 0x310);
	world.regs[RBP] = UINT64_C(0x55550000); /* the heap */
	expect(&world, VMOP_STACK_TORN, CODE + 0x210, CODE + 0x310);
	world.regs[RBP] = STACK + (UINT64_C(1) << 41); /* above every stack */
	expect(&world, VMOP_STACK_TORN, CODE + 0x210, CODE + 0x310);
	/* The kernel copied less than was asked: up to a page that is not present. */
	world.capture.user_stack_asked_bytes *= 2;
	world.regs[RBP] = WORD(N_WORDS);
	expect(&world, VMOP_STACK_COPY_SHORT, CODE + 0x210, CODE + 0x310);
	world.regs[RBP] = STACK + (2 << 20);
	expect(&world, VMOP_STACK_TORN, CODE + 0x210, CODE + 0x310);
	world.capture.user_stack_bytes = 0;
	expect(&world, VMOP_STACK_COPY_SHORT, CODE + 0x210);
}

/* A frame address that does not move up. */
static void circles(void **state)
{
	struct world world = usual_world(CODE + 0x310);
	(void)state;
	world.regs[RBP] = WORD(4);
	world.stack[4] = WORD(4);
	world.stack[5] = CODE + 0x320;
	expect(&world, VMOP_STACK_TORN, CODE + 0x310, CODE + 0x320);
	world.stack[4] = WORD(2);
	world.stack[2] = WORD(4);
	world.stack[3] = CODE + 0x320;
	expect(&world, VMOP_STACK_TORN, CODE + 0x310, CODE + 0x320);
}

/* Stacks at both ends of the address space: nothing outside the copy is read (ASan sees it). */
static void edges(void **state)
{
	static const uint64_t pointers[] = {
		0, 1, UINT64_MAX, UINT64_MAX - 7, UINT64_MAX - 4095, INT64_MAX};
	(void)state;
	for (size_t i = 0; i < sizeof(pointers) / sizeof(pointers[0]); i++) {
		for (uint64_t at = 0x100; at <= 0xa00; at += 0x100) {
			struct world world = usual_world(CODE + at + 0x10);
			for (size_t reg = 0; reg < RIP; reg++)
				world.regs[reg] = pointers[i];
			for (size_t word = 0; word < N_WORDS; word++)
				world.stack[word] = word % 2 ? CODE + at : pointers[i];
			world_unwind(&world, MAX_FRAMES);
			world.capture.user_stack_bytes = 7;
			world_unwind(&world, MAX_FRAMES);
			assert_in_range(world.unwound.n_frames, 1, 2);
		}
	}
}

static void frame_pointers(void **state)
{
	struct world world = usual_world(JIT + 0x110);
	(void)state;
	world.regs[RBP] = WORD(10);
	world.stack[10] = WORD(20);
	world.stack[11] = JIT + 0x200;
	world.stack[20] = WORD(30);
	world.stack[21] = CODE + 0x220; /* compiled code, which has a rule by the stack pointer */
	world.stack[25] = CODE + 0x320; /* behind 3 words */
	world.stack[31] = CODE + 0x410; /* by the frame pointer that the JIT's code kept */
	expect(&world, VMOP_STACK_COMPLETE, JIT + 0x110, JIT + 0x200, CODE + 0x220, CODE + 0x320,
	       CODE + 0x410);
	assert_int_equal(world.unwound.n_by_frame_pointer, 2);
	/* Code without CFI in an image that has some. */
	world.regs[RIP] = CODE + 0x910;
	expect(&world, VMOP_STACK_COMPLETE, CODE + 0x910, JIT + 0x200, CODE + 0x220, CODE + 0x320,
	       CODE + 0x410);
}

static void frame_pointers_up_to_zero(void **state)
{
	struct world world = usual_world(JIT + 0x110);
	(void)state;
	world.regs[RBP] = WORD(10);
	world.stack[10] = 0;
	world.stack[11] = JIT + 0x200;
	expect(&world, VMOP_STACK_COMPLETE, JIT + 0x110, JIT + 0x200);
}

static void frame_pointers_that_are_none(void **state)
{
	struct world world = usual_world(JIT + 0x110);
	static const uint64_t values[] = {0, 1, STACK - 8, STACK + 4, WORD(N_WORDS), UINT64_MAX};
	(void)state;
	for (size_t i = 0; i < N_WORDS; i++)
		world.stack[i] = CODE + 0x220;
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		world.regs[RBP] = values[i];
		expect(&world, VMOP_STACK_NO_CFI, JIT + 0x110);
	}
	world.regs[RBP] = WORD(10);
	world.stack[10] = WORD(20);
	world.stack[11] = 0x1234; /* no code */
	expect(&world, VMOP_STACK_NO_CFI, JIT + 0x110);
	assert_int_equal(world.unwound.n_by_frame_pointer, 0);
	/* Code by chance: the rule finds nothing there, and the frame pointer is to blame. */
	world.stack[11] = CODE + 0x220;
	world.stack[15] = 0x1234;
	expect(&world, VMOP_STACK_NO_CFI, JIT + 0x110, CODE + 0x220);
	/* A chain that leaves the copy. */
	world.stack[10] = WORD(N_WORDS + 5);
	world.stack[11] = JIT + 0x200;
	expect(&world, VMOP_STACK_COPY_SHORT, JIT + 0x110, JIT + 0x200);
	world.stack[10] = WORD(10);
	expect(&world, VMOP_STACK_NO_CFI, JIT + 0x110, JIT + 0x200);
}

static void machines(void **state)
{
	struct vmop_unwinder *unwinder;
	(void)state;
	struct vmop_error *err = vmop_unwinder_create(EM_S390, &unwinder);
	assert_non_null(err);
	assert_null(unwinder);
	vmop_error_destroy(err);
	vmop_unwinder_destroy(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules),
		cmocka_unit_test(call_at_the_end),
		cmocka_unit_test(epilogue),
		cmocka_unit_test(frame_pointer_elsewhere),
		cmocka_unit_test(stubs),
		cmocka_unit_test(frame_address_in_memory),
		cmocka_unit_test(other_registers),
		cmocka_unit_test(saved_rbx),
		cmocka_unit_test(signals),
		cmocka_unit_test(signal_stacks),
		cmocka_unit_test(ends),
		cmocka_unit_test(entry_points),
		cmocka_unit_test(depth),
		cmocka_unit_test(short_copies),
		cmocka_unit_test(circles),
		cmocka_unit_test(edges),
		cmocka_unit_test(frame_pointers),
		cmocka_unit_test(frame_pointers_up_to_zero),
		cmocka_unit_test(frame_pointers_that_are_none),
		cmocka_unit_test(machines),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
