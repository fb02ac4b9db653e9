// SPDX-License-Identifier: GPL-2.0-or-later
#include "libstack/expression.h"

#include "libstack/cursor.h"

enum { MAX_VALUES = 32, MAX_OPERATIONS = 500 };

/* Operations (DWARF 5, section 7.7.1). */
enum {
	OP_ADDR = 0x03,
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_CONST2U = 0x0a,
	OP_CONST2S = 0x0b,
	OP_CONST4U = 0x0c,
	OP_CONST4S = 0x0d,
	OP_CONST8U = 0x0e,
	OP_CONST8S = 0x0f,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_DUP = 0x12,
	OP_DROP = 0x13,
	OP_OVER = 0x14,
	OP_PICK = 0x15,
	OP_SWAP = 0x16,
	OP_ROT = 0x17,
	OP_ABS = 0x19,
	OP_AND = 0x1a,
	OP_DIV = 0x1b,
	OP_MINUS = 0x1c,
	OP_MOD = 0x1d,
	OP_MUL = 0x1e,
	OP_NEG = 0x1f,
	OP_NOT = 0x20,
	OP_OR = 0x21,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_SHR = 0x25,
	OP_SHRA = 0x26,
	OP_XOR = 0x27,
	OP_BRA = 0x28,
	OP_EQ = 0x29,
	OP_GE = 0x2a,
	OP_GT = 0x2b,
	OP_LE = 0x2c,
	OP_LT = 0x2d,
	OP_NE = 0x2e,
	OP_SKIP = 0x2f,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
	OP_BREGX = 0x92,
	OP_DEREF_SIZE = 0x94,
	OP_NOP = 0x96,
};

struct machine {
	struct vmop_cfi_cursor cursor; /* is_bad ends the evaluation */
	const struct vmop_expression *expression;
	size_t n_values;
	uint64_t values[MAX_VALUES];
	uint64_t fault;
};

static void push(struct machine *machine, uint64_t value)
{
	if (machine->n_values == MAX_VALUES)
		vmop_cfi_cursor_fail(&machine->cursor);
	else
		machine->values[machine->n_values++] = value;
}

static uint64_t pop(struct machine *machine)
{
	if (machine->n_values == 0) {
		vmop_cfi_cursor_fail(&machine->cursor);
		return 0;
	}
	return machine->values[--machine->n_values];
}

/* Push a copy of the value that is depth below the top. */
static void pick(struct machine *machine, size_t depth)
{
	if (depth >= machine->n_values)
		vmop_cfi_cursor_fail(&machine->cursor);
	else
		push(machine, machine->values[machine->n_values - 1 - depth]);
}

static void push_register(struct machine *machine, uint64_t reg)
{
	uint64_t offset = (uint64_t)vmop_cfi_sleb(&machine->cursor);
	const struct vmop_frame *frame = machine->expression->frame;
	if (reg >= VMOP_USER_REGS || !vmop_frame_knows(frame, (unsigned)reg))
		vmop_cfi_cursor_fail(&machine->cursor);
	else
		push(machine, frame->regs[reg] + offset);
}

/* Replace the address on top by n_bytes of memory. */
static void dereference(struct machine *machine, size_t n_bytes)
{
	uint64_t address = pop(machine), value;
	if (machine->cursor.is_bad || n_bytes < 1 || n_bytes > 8) {
		vmop_cfi_cursor_fail(&machine->cursor);
	} else if (!vmop_stack_copy_read(machine->expression->copy, address, &value)) {
		machine->fault = address;
		vmop_cfi_cursor_fail(&machine->cursor);
	} else {
		push(machine, n_bytes == 8 ? value : value & ((UINT64_C(1) << 8 * n_bytes) - 1));
	}
}

static void jump(struct machine *machine, bool is_taken)
{
	struct vmop_cfi_cursor *cursor = &machine->cursor;
	const struct vmop_expression *expression = machine->expression;
	int64_t distance = (int16_t)vmop_cfi_number(cursor, 2);
	int64_t to = cursor->at - expression->bytes + distance;
	if (cursor->is_bad || !is_taken)
		return;
	if (to < 0 || (uint64_t)to > expression->len_bytes)
		vmop_cfi_cursor_fail(cursor);
	else
		cursor->at = expression->bytes + to;
}

/* Push a constant. False: the operation is not one of these. */
static bool run_constant(struct machine *machine, uint8_t op)
{
	struct vmop_cfi_cursor *cursor = &machine->cursor;
	if (op >= OP_LIT0 && op <= OP_LIT31) {
		push(machine, op - OP_LIT0);
	} else if (op == OP_ADDR) {
		push(machine, vmop_cfi_number(cursor, 8));
	} else if (op == OP_CONSTU) {
		push(machine, vmop_cfi_uleb(cursor));
	} else if (op == OP_CONSTS) {
		push(machine, (uint64_t)vmop_cfi_sleb(cursor));
	} else if (op >= OP_CONST1U && op <= OP_CONST8S) {
		size_t n_bytes = (size_t)1 << (op - OP_CONST1U) / 2;
		uint64_t value = vmop_cfi_number(cursor, n_bytes);
		uint64_t sign = UINT64_C(1) << (8 * n_bytes - 1);
		push(machine, op & 1 ? (value ^ sign) - sign : value);
	} else {
		return false;
	}
	return true;
}

/* Compare two numbers. False: the operation is no comparison. */
static bool compare(uint8_t op, int64_t a, int64_t b, uint64_t *ret)
{
	const bool results[] = {a == b, a >= b, a > b, a <= b, a < b, a != b};
	if (op < OP_EQ || op > OP_NE)
		return false;
	*ret = results[op - OP_EQ];
	return true;
}

/* Shift a number. False: the operation is no shift. */
static bool shift(uint8_t op, uint64_t a, uint64_t n, uint64_t *ret)
{
	bool is_far = n >= 64;
	if (op == OP_SHL)
		*ret = is_far ? 0 : a << n;
	else if (op == OP_SHR)
		*ret = is_far ? 0 : a >> n;
	else if (op == OP_SHRA)
		*ret = (uint64_t)((int64_t)a >> (is_far ? 63 : n));
	return op >= OP_SHL && op <= OP_SHRA;
}

/* Divide. DWARF divides signed numbers, and takes the remainder of unsigned ones. */
static bool divide(uint8_t op, uint64_t a, uint64_t b, uint64_t *ret)
{
	if (b == 0 || (op != OP_DIV && op != OP_MOD))
		return false;
	if (op == OP_MOD)
		*ret = a % b;
	else /* the least number by -1 overflows */
		*ret = b == UINT64_MAX ? 0 - a : (uint64_t)((int64_t)a / (int64_t)b);
	return true;
}

/* Compute a binary operation of the second value and the top. False: it is none, or divides by 0.
 */
static bool compute(uint8_t op, uint64_t a, uint64_t b, uint64_t *ret)
{
	switch (op) {
	case OP_AND:
		*ret = a & b;
		return true;
	case OP_OR:
		*ret = a | b;
		return true;
	case OP_XOR:
		*ret = a ^ b;
		return true;
	case OP_PLUS:
		*ret = a + b;
		return true;
	case OP_MINUS:
		*ret = a - b;
		return true;
	case OP_MUL:
		*ret = a * b;
		return true;
	default:
		return divide(op, a, b, ret) || shift(op, a, b, ret) ||
		       compare(op, (int64_t)a, (int64_t)b, ret);
	}
}

static void run_binary(struct machine *machine, uint8_t op)
{
	uint64_t b = pop(machine), a = pop(machine), value;
	if (compute(op, a, b, &value))
		push(machine, value);
	else
		vmop_cfi_cursor_fail(&machine->cursor);
}

/* Rotate the upper n values: the top becomes the lowest of them. */
static void rotate(struct machine *machine, size_t n)
{
	if (machine->n_values < n) {
		vmop_cfi_cursor_fail(&machine->cursor);
		return;
	}
	uint64_t *from = &machine->values[machine->n_values - n], top = from[n - 1];
	memmove(from + 1, from, (n - 1) * sizeof(*from));
	from[0] = top;
}

/* Run an operation that only moves or changes values. False: it is none of those. */
static bool run_stack(struct machine *machine, uint8_t op)
{
	uint64_t value;
	switch (op) {
	case OP_DUP:
		pick(machine, 0);
		return true;
	case OP_OVER:
		pick(machine, 1);
		return true;
	case OP_PICK:
		pick(machine, vmop_cfi_byte(&machine->cursor));
		return true;
	case OP_DROP:
		pop(machine);
		return true;
	case OP_SWAP:
		rotate(machine, 2);
		return true;
	case OP_ROT:
		rotate(machine, 3);
		return true;
	case OP_NEG:
		push(machine, 0 - pop(machine));
		return true;
	case OP_NOT:
		push(machine, ~pop(machine));
		return true;
	case OP_ABS:
		value = pop(machine);
		push(machine, value >> 63 ? 0 - value : value);
		return true;
	case OP_PLUS_UCONST:
		value = pop(machine);
		push(machine, value + vmop_cfi_uleb(&machine->cursor));
		return true;
	default:
		return false;
	}
}

static void run_operation(struct machine *machine)
{
	struct vmop_cfi_cursor *cursor = &machine->cursor;
	uint8_t op = vmop_cfi_byte(cursor);
	if (run_constant(machine, op) || run_stack(machine, op))
		return;
	if (op >= OP_BREG0 && op <= OP_BREG31)
		push_register(machine, op - OP_BREG0);
	else if (op == OP_BREGX)
		push_register(machine, vmop_cfi_uleb(cursor));
	else if (op == OP_DEREF)
		dereference(machine, 8);
	else if (op == OP_DEREF_SIZE)
		dereference(machine, vmop_cfi_byte(cursor));
	else if (op == OP_SKIP)
		jump(machine, true);
	else if (op == OP_BRA)
		jump(machine, pop(machine) != 0);
	else if (op != OP_NOP)
		run_binary(machine, op);
}

bool vmop_expression_evaluate(const struct vmop_expression *expression, uint64_t initial,
			      size_t n_initial, uint64_t *ret, uint64_t *ret_fault)
{
	struct machine machine;
	unsigned n_operations = 0;
	machine.expression = expression;
	machine.cursor = (struct vmop_cfi_cursor){.at = expression->bytes,
						  .end = expression->bytes + expression->len_bytes};
	machine.n_values = n_initial;
	machine.values[0] = initial;
	machine.fault = 0;
	while (machine.cursor.at < machine.cursor.end && n_operations++ < MAX_OPERATIONS)
		run_operation(&machine);
	bool is_done = machine.cursor.at == machine.cursor.end;
	*ret = pop(&machine);
	*ret_fault = machine.fault;
	return is_done && !machine.cursor.is_bad;
}
