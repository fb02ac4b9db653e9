// SPDX-License-Identifier: GPL-2.0-or-later
/* Frames that a table can't express, with CFI made here: libstack/entry-step.h, expression.h. */
#include "world.h"

#include "libstack/entry-step.h"
#include "libstack/expression.h"

enum {
	RBX = 3,
	RDI = 5,
	RSP = 7,
	RIP = 16,
	DW_CFA_offset_rip = 0x90, /* at CFA + 1 * the data alignment of -8 */
	DW_CFA_offset_rbx = 0x83,
	DW_CFA_def_cfa_expression = 0x0f,
	DW_OP_breg7 = 0x77,
	DW_OP_breg3 = 0x73,
	DW_OP_lit8 = 0x38,
	DW_OP_plus = 0x22,
	DW_OP_deref = 0x06,
	DW_OP_skip = 0x2f,
	MAX_PROGRAM = 32,
	ELF_FUNCTION = 0x2a00, /* the file has the code 0x1000 above its offset */
	ELF_CIE = 0x8004,
};

/* A CIE and an FDE as they lie in .eh_frame. */
struct __attribute__((packed)) cie {
	uint32_t len_bytes, id;
	uint8_t version;
	char augmentation[3];
	uint8_t code_alignment, data_alignment, ra, augmentation_bytes, encoding;
	uint8_t program[7];
};

struct __attribute__((packed)) fde {
	uint32_t len_bytes, cie_distance;
	int32_t function;
	uint32_t function_bytes;
	uint8_t augmentation_bytes, program[MAX_PROGRAM + 3];
};

static struct cie cie = {
	.len_bytes = sizeof(cie) - 4,
	.version = 1,
	.augmentation = "zR",
	.code_alignment = 1,
	.data_alignment = 0x78, /* -8 */
	.ra = 16,
	.augmentation_bytes = 1,
	.encoding = 0x1b, /* relative, 4 bytes */
	.program = {DW_CFA_offset_rip, 1},
};
static struct fde fde;
static struct vmop_cfi_entry entry;

static void set_program(const uint8_t *program, size_t len_bytes)
{
	enum { ELF_FDE = ELF_CIE + sizeof(cie) };
	fde = (struct fde){
		.len_bytes = sizeof(fde) - 4,
		.cie_distance = ELF_FDE + 4 - ELF_CIE,
		.function = ELF_FUNCTION - (ELF_FDE + 8),
		.function_bytes = 0x100,
	};
	memcpy(fde.program, program, len_bytes);
	entry = (struct vmop_cfi_entry){
		.cie = (const uint8_t *)&cie,
		.fde = (const uint8_t *)&fde,
		.cie_bytes = sizeof(cie),
		.fde_bytes = sizeof(fde),
		.cie_address = ELF_CIE,
		.fde_address = ELF_FDE,
		.function_address = ELF_FUNCTION,
		.function_bytes = 0x100,
		.address_minus_offset = 0x1000,
	};
}

/* A process in a function at `CODE + 0xa00`, which has that program, called by outermost code. */
static struct world world_with(const uint8_t *program, size_t len_bytes)
{
	struct world world = world_new(EM_X86_64);
	set_rows(&world, {AT(0x400), {.kind = VMOP_CFI_END}},
		 {AT(0x500),
		  {.kind = VMOP_CFI_REGISTER,
		   .cfa_register = RBX,
		   .cfa_offset = 16,
		   .ra_saved = VMOP_CFI_AT_CFA,
		   .ra_offset = -8}},
		 {AT(0xa00), {.kind = VMOP_CFI_EXPRESSION}});
	set_program(program, len_bytes);
	world.table.entry = &entry;
	world.regs[RIP] = CODE + 0xa10;
	return world;
}

#define PROGRAM(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

static void by_an_expression(void **state)
{
	struct world world =
		world_with(PROGRAM(DW_CFA_def_cfa_expression, 5, DW_OP_breg7, 8, DW_OP_lit8,
				   DW_OP_plus, DW_OP_deref, DW_CFA_offset_rbx, 2));
	(void)state;
	world.stack[2] = WORD(10); /* at rsp + 8 + 8 */
	world.stack[9] = CODE + 0x410;
	expect(&world, VMOP_STACK_COMPLETE, CODE + 0xa10, CODE + 0x410);
	assert_int_equal(world.unwound.n_by_expression, 1);
	/* The same function as a caller: the call is its last instruction. */
	world.regs[RIP] = CODE + 0x510;
	world.regs[RBX] = STACK - 8;
	world.stack[0] = CODE + 0xb00;
	world.stack[3] = WORD(10);
	expect(&world, VMOP_STACK_COMPLETE, CODE + 0x510, CODE + 0xb00, CODE + 0x410);
}

/* The C library's vfork: the return address is in rdi, and the frame is empty. */
static void return_address_in_a_register(void **state)
{
	struct world world = world_with(
		PROGRAM(0x0c /* DW_CFA_def_cfa */, RSP, 0, 0x09 /* DW_CFA_register */, RIP, RDI));
	(void)state;
	world.regs[RDI] = CODE + 0x410;
	expect(&world, VMOP_STACK_COMPLETE, CODE + 0xa10, CODE + 0x410);
	world.regs[RDI] = CODE + 0xa20; /* a caller can't have it there */
	assert_int_not_equal(world_unwind(&world, MAX_FRAMES), VMOP_STACK_COMPLETE);
	assert_int_equal(world.unwound.n_frames, 2);
}

static void failures(void **state)
{
	struct world world =
		world_with(PROGRAM(DW_CFA_def_cfa_expression, 3, DW_OP_breg7, 16, DW_OP_deref));
	(void)state;
	world.stack[2] = WORD(N_WORDS + 4); /* behind the copy */
	expect(&world, VMOP_STACK_COPY_SHORT, CODE + 0xa10);
	world.stack[2] = STACK; /* does not move up */
	world.stack[0] = CODE + 0x410;
	assert_int_not_equal(world_unwind(&world, MAX_FRAMES), VMOP_STACK_COMPLETE);
	assert_int_equal(world.unwound.n_frames, 1);
	/* An unknown register. */
	world = world_with(
		PROGRAM(DW_CFA_def_cfa_expression, 4, 0x92 /* DW_OP_bregx */, 0x40, 0, 0));
	expect(&world, VMOP_STACK_NO_CFI, CODE + 0xa10);
	/* An entry of another function. */
	entry.function_address += 0x100;
	expect(&world, VMOP_STACK_NO_CFI, CODE + 0xa10);
	entry.fde_bytes = 3;
	expect(&world, VMOP_STACK_NO_CFI, CODE + 0xa10);
	world.table.entry = NULL;
	expect(&world, VMOP_STACK_NO_CFI, CODE + 0xa10);
}

/* An expression that jumps back for ever: the step gives up. */
static void endless(void **state)
{
	struct world world = world_with(
		PROGRAM(DW_CFA_def_cfa_expression, 5, DW_OP_breg7, 8, DW_OP_skip, 0xfd, 0xff));
	(void)state;
	expect(&world, VMOP_STACK_NO_CFI, CODE + 0xa10);
}

/* Expressions over rbx = 0x1000 and a stack whose words are their numbers. */
static void expressions(void **state)
{
	static const struct {
		uint8_t bytes[12];
		size_t len_bytes;
		uint64_t value;
		bool fails;
	} cases[] = {
		{{0x08, 200}, 2, 200, false},		      /* const1u */
		{{0x09, 200}, 2, (uint64_t)-56, false},	      /* const1s */
		{{0x0b, 0xfe, 0xff}, 3, (uint64_t)-2, false}, /* const2s */
		{{0x0e, 1, 2, 3, 4, 5, 6, 7, 8}, 9, 0x807060504030201, false},
		{{0x10, 0x80, 1}, 3, 128, false},		     /* constu */
		{{0x73, 0x7c}, 2, 0xffc, false},		     /* breg3 -4 */
		{{0x92, 3, 8}, 3, 0x1008, false},		     /* bregx */
		{{0x77, 24, 6}, 3, 3, false},			     /* deref at the fourth word */
		{{0x77, 24, 0x94, 4}, 4, 3, false},		     /* deref_size */
		{{0x38, 0x12, 0x1e}, 3, 64, false},		     /* lit8 dup mul */
		{{0x31, 0x32, 0x33, 0x17, 0x1c, 0x1c}, 6, 4, false}, /* rot: 3 1 2, 3 - (1 - 2) */
		{{0x31, 0x32, 0x16, 0x1c}, 4, 1, false},	     /* swap minus */
		{{0x35, 0x14}, 2, 0, true},			     /* over, of one value */
		{{0x35, 0x31, 0x15, 1}, 4, 5, false},		     /* pick */
		{{0x35, 0x15, 1}, 3, 0, true},			     /* pick, too deep */
		{{0x35, 0x30, 0x1b}, 3, 0, true},		     /* division by 0 */
		{{0x11, 0x7f, 0x0f, 0, 0, 0, 0, 0, 0, 0, 0x80, 0x16}, 12, UINT64_MAX, false},
		{{0x31, 0x28, 1, 0, 0x35, 0x36}, 6, 6, false}, /* bra over lit5 */
		{{0x2f, 0xfd, 0xff}, 3, 0, true},	       /* skip to itself */
		{{0x2f, 0, 0x80}, 3, 0, true},		       /* skip out of it */
		{{0x12, 0x2f, 0xfc, 0xff}, 4, 0, true},	       /* fills the stack */
		{{0x22}, 1, 0, true},			       /* nothing to add */
		{{0x03, 1}, 2, 0, true},		       /* cut */
		{{0x50}, 1, 0, true},			       /* reg0 is no value */
		{{0x70, 0}, 2, 0, true},		       /* an unknown register */
		{{0}, 0, 0, true},
	};
	uint64_t words[8] = {0, 1, 2, 3, 4, 5, 6, 7};
	const struct vmop_stack_copy copy = {(const uint8_t *)words, sizeof(words), STACK, true};
	struct vmop_frame frame = {.known = 1 << RBX | 1 << RSP};
	(void)state;
	frame.regs[RBX] = 0x1000;
	frame.regs[RSP] = STACK;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const struct vmop_expression expression = {cases[i].bytes, cases[i].len_bytes,
							   &frame, &copy};
		uint64_t value, fault;
		bool ok = vmop_expression_evaluate(&expression, 0, 0, &value, &fault);
		if (ok == cases[i].fails || (ok && value != cases[i].value))
			fail_msg("case %zu: %d, %#lx", i, ok, value);
		assert_int_equal(fault, 0);
	}
	const uint8_t outside[] = {0x77, 61, 6};
	const struct vmop_expression expression = {outside, sizeof(outside), &frame, &copy};
	uint64_t value, fault;
	assert_false(vmop_expression_evaluate(&expression, 0, 0, &value, &fault));
	assert_int_equal(fault, STACK + 61);
}

/* The work of a stack is bounded: a recursion through a function with a long program ends. */
static void long_programs(void **state)
{
	struct vmop_stack_copy copy = {NULL, 0, 0, true};
	struct vmop_frame frame = {.known = UINT64_MAX};
	size_t left_bytes = sizeof(cie) + sizeof(fde);
	uint64_t fault;
	(void)state;
	set_program(PROGRAM(0x0c, RSP, 0, 0x09, RIP, RDI));
	frame.regs[RIP] = ELF_FUNCTION + 8;
	frame.is_interrupted = true;
	assert_true(vmop_entry_step(&vmop_machine_x86_64, &entry, 0, &copy, &frame, &left_bytes,
				    &fault));
	assert_int_equal(left_bytes, 0);
	frame.regs[RIP] = ELF_FUNCTION + 8;
	frame.known = UINT64_MAX;
	assert_false(vmop_entry_step(&vmop_machine_x86_64, &entry, 0, &copy, &frame, &left_bytes,
				     &fault));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_an_expression), cmocka_unit_test(return_address_in_a_register),
		cmocka_unit_test(failures),	    cmocka_unit_test(endless),
		cmocka_unit_test(expressions),	    cmocka_unit_test(long_programs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
