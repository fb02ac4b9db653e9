// SPDX-License-Identifier: GPL-2.0-or-later
/* The unwinder over hand-made stacks and rules of arm64. */
#include "world.h"

enum { FP = 29, LR = 30, SP = 31, PC = 32 };

#define WITH_RECORD(offset)                                                                        \
	{                                                                                          \
		.kind = VMOP_CFI_REGISTER, .cfa_register = SP, .cfa_offset = (offset),             \
		.ra_saved = VMOP_CFI_AT_CFA, .ra_offset = 8 - (offset),                            \
		.fp_saved = VMOP_CFI_AT_CFA, .fp_offset = -(offset)                                \
	}

/*
 * The functions of the process. 0x100: leaf without a frame; 0x200: frame of 32 bytes with the
 * record at its start; 0x300: the same, signed; 0x400: outermost; 0x500: no CFI; 0x600: leaf with a
 * frame of 16 bytes.
 */
static struct world usual_world(uint64_t pc)
{
	struct world world = world_new(EM_AARCH64);
	set_rows(&world, {AT(0x100), {.kind = VMOP_CFI_REGISTER, .cfa_register = SP}},
		 {AT(0x200), WITH_RECORD(32)},
		 {AT(0x300),
		  {.kind = VMOP_CFI_REGISTER,
		   .cfa_register = FP,
		   .cfa_offset = 32,
		   .ra_saved = VMOP_CFI_AT_CFA,
		   .ra_offset = -24,
		   .ra_is_signed = true,
		   .fp_saved = VMOP_CFI_AT_CFA,
		   .fp_offset = -32}},
		 {AT(0x400), {.kind = VMOP_CFI_END}}, {AT(0x500), {.kind = VMOP_CFI_NONE}},
		 {AT(0x600), {.kind = VMOP_CFI_REGISTER, .cfa_register = SP, .cfa_offset = 16}});
	world.regs[PC] = pc;
	return world;
}

static void rules(void **state)
{
	struct world world = usual_world(CODE + 0x110);
	(void)state;
	world.regs[LR] = CODE + 0x220;
	world.stack[0] = WORD(4);
	world.stack[1] = CODE + 0x230;
	world.stack[4] = WORD(8);
	world.stack[5] = CODE + 0x410;
	expect(&world, VMOP_STACK_COMPLETE, CODE + 0x110, CODE + 0x220, CODE + 0x230, CODE + 0x410);
	world.regs[PC] = CODE + 0x610;
	world.stack[2] = WORD(6); /* its locals are 2 words */
	world.stack[3] = CODE + 0x410;
	expect(&world, VMOP_STACK_COMPLETE, CODE + 0x610, CODE + 0x220, CODE + 0x410);
}

/* Only the innermost function can have its return address in the link register. */
static void leaf_that_calls(void **state)
{
	struct world world = usual_world(CODE + 0x110);
	(void)state;
	world.regs[LR] = CODE + 0x120;
	expect(&world, VMOP_STACK_TORN, CODE + 0x110, CODE + 0x120);
	world.regs[LR] = CODE + 0x620;
	expect(&world, VMOP_STACK_TORN, CODE + 0x110, CODE + 0x620);
}

/* Behind the load of both registers at the end of a function. */
static void epilogue(void **state)
{
	struct world world = usual_world(CODE + 0x110);
	(void)state;
	set_rows(&world,
		 {AT(0x100),
		  {.kind = VMOP_CFI_REGISTER,
		   .cfa_register = SP,
		   .ra_saved = VMOP_CFI_AT_CFA,
		   .ra_offset = -24,
		   .fp_saved = VMOP_CFI_AT_CFA,
		   .fp_offset = -32}},
		 {AT(0x400), {.kind = VMOP_CFI_END}});
	world.regs[LR] = CODE + 0x410;
	world.regs[SP] = STACK;
	assert_int_equal(world_unwind(&world, MAX_FRAMES), VMOP_STACK_TORN);
	world.table.rows = NULL;
	world.table.n_rows = 0;
	expect(&world, VMOP_STACK_NO_CFI, CODE + 0x110);
}

static void signed_addresses(void **state)
{
	struct world world = usual_world(CODE + 0x310);
	(void)state;
	world.regs[FP] = STACK;
	world.stack[0] = WORD(4);
	world.stack[1] = (CODE + 0x320) | UINT64_C(0x2a5b) << 48; /* 48-bit addresses */
	world.stack[4] = WORD(8);
	world.stack[5] = (CODE + 0x410) | UINT64_C(0xff7f) << 48; /* with the kernel's top bit */
	expect(&world, VMOP_STACK_COMPLETE, CODE + 0x310, CODE + 0x320, CODE + 0x410);
	/* Without signing, the same bits are damage. */
	world.regs[PC] = CODE + 0x210;
	expect(&world, VMOP_STACK_TORN, CODE + 0x210);
}

enum { SIGNAL_REGS = 39, SIGNAL_CONTEXT = 16, SIGNAL_FPSIMD = 74 };

/* Put a signal's frame at stack[at]: siginfo_t, which may be empty, and ucontext. */
static void put_signal_frame(struct world *world, size_t at, uint64_t pc, uint64_t sp)
{
	uint64_t *frame = &world->stack[at];
	frame[0] = 0xeeee;
	frame[SIGNAL_CONTEXT] = frame[SIGNAL_CONTEXT + 1] = 0;
	frame[SIGNAL_REGS + FP] = sp;
	frame[SIGNAL_REGS + LR] = CODE + 0x220;
	frame[SIGNAL_REGS + SP] = sp;
	frame[SIGNAL_REGS + PC] = pc;
	frame[SIGNAL_FPSIMD] = UINT64_C(528) << 32 | 0x46508001;
}

/* The kernel's trampoline has no CFI. */
static void signals(void **state)
{
	struct world world = usual_world(CODE + 0x210);
	(void)state;
	world.stack[1] = CODE + 0x510;
	put_signal_frame(&world, 4, CODE + 0x100, WORD(200)); /* at a leaf's first instruction */
	world.stack[201] = CODE + 0x410;
	expect(&world, VMOP_STACK_COMPLETE, CODE + 0x210, CODE + 0x510, CODE + 0x100, CODE + 0x220,
	       CODE + 0x410);
	assert_true(world.frames[2].is_interrupted);
	assert_int_equal(world.unwound.n_by_frame_pointer, 0);
	world.stack[1] = CODE + 0x130; /* the trampoline is taken for the end of a leaf function */
	expect(&world, VMOP_STACK_COMPLETE, CODE + 0x210, CODE + 0x130, CODE + 0x100, CODE + 0x220,
	       CODE + 0x410);
	world.stack[1] = CODE + 0x510;
	world.stack[4 + SIGNAL_FPSIMD]++; /* another record */
	expect(&world, VMOP_STACK_NO_CFI, CODE + 0x210, CODE + 0x510);
}

/* A frame record does not have the caller's stack pointer, which the caller's own record gives. */
static void frame_pointers(void **state)
{
	struct world world = usual_world(JIT + 0x110);
	(void)state;
	world.regs[FP] = WORD(10);
	world.stack[10] = WORD(20);
	world.stack[11] = (JIT + 0x200) | UINT64_C(0x15) << 48;
	world.stack[20] = WORD(30);
	world.stack[21] = CODE + 0x220;
	world.stack[30] = WORD(34);
	world.stack[31] = CODE + 0x230;
	world.stack[34] = WORD(40);
	world.stack[35] = CODE + 0x410;
	expect(&world, VMOP_STACK_COMPLETE, JIT + 0x110, JIT + 0x200, CODE + 0x220, CODE + 0x230,
	       CODE + 0x410);
	assert_int_equal(world.unwound.n_by_frame_pointer, 2);
	world.stack[21] = CODE + 0x620; /* without a record, its frame's size is unknown */
	expect(&world, VMOP_STACK_NO_CFI, JIT + 0x110, JIT + 0x200, CODE + 0x620);
	world.stack[20] = WORD(8); /* the chain goes down */
	world.stack[21] = JIT + 0x220;
	expect(&world, VMOP_STACK_NO_CFI, JIT + 0x110, JIT + 0x200, JIT + 0x220);
}

/* A leaf function in code without CFI: its return address is in the link register, in other code.
 */
static void leaf_without_cfi(void **state)
{
	struct world world = usual_world(JIT + 0x110);
	(void)state;
	world.regs[LR] = CODE + 0x220;
	world.regs[FP] = WORD(20); /* the caller's caller's record */
	world.stack[1] = CODE + 0x410;
	world.stack[21] = CODE + 0x230;
	expect(&world, VMOP_STACK_COMPLETE, JIT + 0x110, CODE + 0x220, CODE + 0x410);
	assert_int_equal(world.unwound.n_by_frame_pointer, 0);
	world.regs[LR] |= UINT64_C(0x2a5b) << 48; /* it has signed its return address */
	expect(&world, VMOP_STACK_COMPLETE, JIT + 0x110, CODE + 0x220, CODE + 0x410);
	/* It has made a record of its own, or a call. */
	world.regs[LR] = CODE + 0x230;
	world.stack[20] = WORD(30);
	world.stack[30] = WORD(40);
	world.stack[31] = CODE + 0x410;
	expect(&world, VMOP_STACK_COMPLETE, JIT + 0x110, CODE + 0x230, CODE + 0x410);
	assert_int_equal(world.unwound.n_by_frame_pointer, 1);
	world.regs[LR] = JIT + 0x100;
	expect(&world, VMOP_STACK_COMPLETE, JIT + 0x110, CODE + 0x230, CODE + 0x410);
	/* The register has no address in code. */
	world.regs[LR] = 1;
	expect(&world, VMOP_STACK_COMPLETE, JIT + 0x110, CODE + 0x230, CODE + 0x410);
	world.regs[LR] = 0;
	expect(&world, VMOP_STACK_COMPLETE, JIT + 0x110, CODE + 0x230, CODE + 0x410);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rules),
		cmocka_unit_test(leaf_that_calls),
		cmocka_unit_test(epilogue),
		cmocka_unit_test(signed_addresses),
		cmocka_unit_test(signals),
		cmocka_unit_test(frame_pointers),
		cmocka_unit_test(leaf_without_cfi),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
