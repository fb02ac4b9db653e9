// SPDX-License-Identifier: GPL-2.0-or-later
#include "libstack/cfi-program.h"

#include <elf.h>

enum { DWARF_X86_64_RBP = 6, DWARF_AARCH64_X29 = 29 };

/* Instructions (DWARF 5, section 7.24). The first three have an operand in their lower six bits. */
enum {
	CFA_ADVANCE_LOC = 0x40,
	CFA_OFFSET = 0x80,
	CFA_RESTORE = 0xc0,
	CFA_PRIMARY = 0xc0,

	CFA_NOP = 0x00,
	CFA_SET_LOC = 0x01,
	CFA_ADVANCE_LOC1 = 0x02,
	CFA_ADVANCE_LOC2 = 0x03,
	CFA_ADVANCE_LOC4 = 0x04,
	CFA_OFFSET_EXTENDED = 0x05,
	CFA_RESTORE_EXTENDED = 0x06,
	CFA_UNDEFINED = 0x07,
	CFA_SAME_VALUE = 0x08,
	CFA_REGISTER = 0x09,
	CFA_REMEMBER_STATE = 0x0a,
	CFA_RESTORE_STATE = 0x0b,
	CFA_DEF_CFA = 0x0c,
	CFA_DEF_CFA_REGISTER = 0x0d,
	CFA_DEF_CFA_OFFSET = 0x0e,
	CFA_DEF_CFA_EXPRESSION = 0x0f,
	CFA_EXPRESSION = 0x10,
	CFA_OFFSET_EXTENDED_SF = 0x11,
	CFA_DEF_CFA_SF = 0x12,
	CFA_DEF_CFA_OFFSET_SF = 0x13,
	CFA_VAL_OFFSET = 0x14,
	CFA_VAL_OFFSET_SF = 0x15,
	CFA_VAL_EXPRESSION = 0x16,
	CFA_MIPS_ADVANCE_LOC8 = 0x1d,
	/* DWARF for the Arm 64-bit Architecture, section 4.4. */
	CFA_AARCH64_NEGATE_RA_STATE_WITH_PC = 0x2c,
	CFA_AARCH64_NEGATE_RA_STATE = 0x2d,
	CFA_GNU_ARGS_SIZE = 0x2e,
	CFA_GNU_NEGATIVE_OFFSET_EXTENDED = 0x2f,
};

static inline int64_t times(const struct vmop_cfi_program *program, uint64_t factored)
{
	return (int64_t)(factored * (uint64_t)program->cie->data_factor);
}

static inline void set_cfa_register(struct vmop_cfi_program *program, uint64_t column)
{
	if (column > VMOP_CFI_LARGE_REGISTER)
		column = VMOP_CFI_LARGE_REGISTER;
	program->row.packed &= ~((uint64_t)VMOP_CFI_LARGE_REGISTER << VMOP_CFI_CFA_REGISTER_SHIFT);
	program->row.packed |= column << VMOP_CFI_CFA_REGISTER_SHIFT;
}

static inline void set_place(struct vmop_cfi_program *program, enum vmop_cfi_place place,
			     struct vmop_cfi_value value)
{
	unsigned shift = VMOP_CFI_HOW_BITS * place;
	program->row.packed &= ~((uint64_t)VMOP_CFI_HOW_MASK << shift);
	program->row.packed |= (uint64_t)value.how << shift;
	program->row.operands[place] = value.operand;
}

static inline void set_register(struct vmop_cfi_program *program, uint64_t column,
				struct vmop_cfi_value value)
{
	if (column == program->fp_column)
		set_place(program, VMOP_CFI_FP, value);
	if (column == program->cie->ra_column)
		set_place(program, VMOP_CFI_RA, value);
	if (column == program->extra_column)
		set_place(program, VMOP_CFI_EXTRA, value);
}

static inline struct vmop_cfi_value offset_value(int64_t offset)
{
	return (struct vmop_cfi_value){.how = VMOP_CFI_HOW_OFFSET, .operand.offset = offset};
}

static inline void set_offset(struct vmop_cfi_program *program, uint64_t column, int64_t offset)
{
	set_register(program, column, offset_value(offset));
}

static void set_how(struct vmop_cfi_program *program, uint64_t column, enum vmop_cfi_how how)
{
	set_register(program, column, (struct vmop_cfi_value){.how = (uint8_t)how});
}

static void restore(struct vmop_cfi_program *program, uint64_t column)
{
	const struct vmop_cfi_row *initial = program->initial;
	/* Only the program of a CIE has no initial row, and there is nothing to restore. */
	if (!initial) {
		vmop_cfi_cursor_fail(&program->cursor);
		return;
	}
	if (column == program->fp_column)
		set_place(program, VMOP_CFI_FP, vmop_cfi_row_value(initial, VMOP_CFI_FP));
	if (column == program->cie->ra_column)
		set_place(program, VMOP_CFI_RA, vmop_cfi_row_value(initial, VMOP_CFI_RA));
	if (column == program->extra_column)
		set_place(program, VMOP_CFI_EXTRA, vmop_cfi_row_value(initial, VMOP_CFI_EXTRA));
}

static void define_cfa(struct vmop_cfi_program *program, uint64_t column, int64_t offset)
{
	set_cfa_register(program, column);
	set_place(program, VMOP_CFI_CFA, offset_value(offset));
}

/* DWARF 5, section 6.4.2.2: this is valid only if the CFA is a register and an offset. */
static inline void define_cfa_offset(struct vmop_cfi_program *program, int64_t offset)
{
	if (vmop_cfi_row_how(&program->row, VMOP_CFI_CFA) == VMOP_CFI_HOW_OFFSET)
		program->row.operands[VMOP_CFI_CFA].offset = offset;
	else
		vmop_cfi_cursor_fail(&program->cursor);
}

static void define_cfa_register(struct vmop_cfi_program *program, uint64_t column)
{
	if (vmop_cfi_row_how(&program->row, VMOP_CFI_CFA) == VMOP_CFI_HOW_OFFSET)
		set_cfa_register(program, column);
	else
		vmop_cfi_cursor_fail(&program->cursor);
}

/* Read the length of an expression, and skip the expression. */
static struct vmop_cfi_value read_expression(struct vmop_cfi_program *program)
{
	const uint8_t *at = program->cursor.at;
	vmop_cfi_skip(&program->cursor, vmop_cfi_uleb(&program->cursor));
	return (struct vmop_cfi_value){.how = VMOP_CFI_HOW_EXPRESSION, .operand.expression = at};
}

const uint8_t *vmop_cfi_expression(union vmop_cfi_operand operand, uint64_t *ret_len_bytes)
{
	enum { MAX_LEB_BYTES = 10 };
	/* The number was read before, and lies in the section. */
	struct vmop_cfi_cursor cursor = {.at = operand.expression,
					 .end = operand.expression + MAX_LEB_BYTES};
	*ret_len_bytes = vmop_cfi_uleb(&cursor);
	return cursor.at;
}

static void remember(struct vmop_cfi_program *program)
{
	if (program->n_remembered == VMOP_CFI_MAX_REMEMBERED)
		vmop_cfi_cursor_fail(&program->cursor);
	else
		program->remembered[program->n_remembered++] = program->row;
}

static void recall(struct vmop_cfi_program *program)
{
	if (program->n_remembered == 0)
		vmop_cfi_cursor_fail(&program->cursor);
	else
		program->row = program->remembered[--program->n_remembered];
}

/* Move the location on by a factored number. Beyond the 64th bit lies the end of any function. */
static inline void advance(struct vmop_cfi_program *program, uint64_t factored)
{
	uint64_t n_bytes;
	if (__builtin_mul_overflow(factored, program->cie->code_factor, &n_bytes) ||
	    __builtin_add_overflow(program->at, n_bytes, &program->at))
		program->at = UINT64_MAX;
}

static void set_location(struct vmop_cfi_program *program)
{
	const struct vmop_cfi_section *section = program->section;
	uint64_t here = section->address + (uint64_t)(program->cursor.at - section->bytes);
	uint64_t location =
		vmop_cfi_pointer(&program->cursor, program->cie->pointer_encoding, here, 0) -
		program->function_address;
	if (location < program->at)
		vmop_cfi_cursor_fail(&program->cursor);
	else
		program->at = location;
}

/* Run an instruction that sets the rule of a register. False: it is none of those. */
static bool run_register_rule(struct vmop_cfi_program *program, uint8_t instruction)
{
	struct vmop_cfi_cursor *cursor = &program->cursor;
	uint64_t column;
	switch (instruction) {
	case CFA_OFFSET_EXTENDED:
		column = vmop_cfi_uleb(cursor);
		set_offset(program, column, times(program, vmop_cfi_uleb(cursor)));
		return true;
	case CFA_OFFSET_EXTENDED_SF:
		column = vmop_cfi_uleb(cursor);
		set_offset(program, column, times(program, (uint64_t)vmop_cfi_sleb(cursor)));
		return true;
	case CFA_GNU_NEGATIVE_OFFSET_EXTENDED:
		column = vmop_cfi_uleb(cursor);
		set_offset(program, column, times(program, -vmop_cfi_uleb(cursor)));
		return true;
	case CFA_RESTORE_EXTENDED:
		restore(program, vmop_cfi_uleb(cursor));
		return true;
	case CFA_UNDEFINED:
		set_how(program, vmop_cfi_uleb(cursor), VMOP_CFI_HOW_UNDEFINED);
		return true;
	case CFA_SAME_VALUE:
		set_how(program, vmop_cfi_uleb(cursor), VMOP_CFI_HOW_SAME);
		return true;
	case CFA_EXPRESSION:
		column = vmop_cfi_uleb(cursor);
		set_register(program, column, read_expression(program));
		return true;
	default:
		return false;
	}
}

/* Run an instruction that sets the rule of a register that is not in memory. False: none of those.
 */
static bool run_value_rule(struct vmop_cfi_program *program, uint8_t instruction)
{
	struct vmop_cfi_cursor *cursor = &program->cursor;
	struct vmop_cfi_value value = {.how = VMOP_CFI_HOW_VALUE_OFFSET};
	bool is_value = instruction == CFA_REGISTER || instruction == CFA_VAL_OFFSET ||
			instruction == CFA_VAL_OFFSET_SF || instruction == CFA_VAL_EXPRESSION;
	if (!is_value)
		return false;
	uint64_t column = vmop_cfi_uleb(cursor);
	if (instruction == CFA_REGISTER) {
		value.how = VMOP_CFI_HOW_REGISTER;
		value.operand.offset = (int64_t)vmop_cfi_uleb(cursor);
	} else if (instruction == CFA_VAL_OFFSET) {
		value.operand.offset = times(program, vmop_cfi_uleb(cursor));
	} else if (instruction == CFA_VAL_OFFSET_SF) {
		value.operand.offset = times(program, (uint64_t)vmop_cfi_sleb(cursor));
	} else {
		value = read_expression(program);
		value.how = VMOP_CFI_HOW_VALUE_EXPRESSION;
	}
	set_register(program, column, value);
	return true;
}

/* Run an instruction that defines the CFA. False: it is none of those. */
static bool run_cfa_rule(struct vmop_cfi_program *program, uint8_t instruction)
{
	struct vmop_cfi_cursor *cursor = &program->cursor;
	uint64_t column;
	switch (instruction) {
	case CFA_DEF_CFA:
		column = vmop_cfi_uleb(cursor);
		define_cfa(program, column, (int64_t)vmop_cfi_uleb(cursor));
		return true;
	case CFA_DEF_CFA_SF:
		column = vmop_cfi_uleb(cursor);
		define_cfa(program, column, times(program, (uint64_t)vmop_cfi_sleb(cursor)));
		return true;
	case CFA_DEF_CFA_REGISTER:
		define_cfa_register(program, vmop_cfi_uleb(cursor));
		return true;
	case CFA_DEF_CFA_OFFSET_SF:
		define_cfa_offset(program, times(program, (uint64_t)vmop_cfi_sleb(cursor)));
		return true;
	case CFA_DEF_CFA_EXPRESSION:
		set_place(program, VMOP_CFI_CFA, read_expression(program));
		return true;
	default:
		return false;
	}
}

/* Run an instruction that moves the location on. False: it is none of those. */
static bool run_advance(struct vmop_cfi_program *program, uint8_t instruction)
{
	struct vmop_cfi_cursor *cursor = &program->cursor;
	switch (instruction) {
	case CFA_SET_LOC:
		set_location(program);
		return true;
	case CFA_ADVANCE_LOC1:
		advance(program, vmop_cfi_byte(cursor));
		return true;
	case CFA_ADVANCE_LOC2:
		advance(program, vmop_cfi_number(cursor, 2));
		return true;
	case CFA_ADVANCE_LOC4:
		advance(program, vmop_cfi_number(cursor, 4));
		return true;
	case CFA_MIPS_ADVANCE_LOC8:
		advance(program, vmop_cfi_number(cursor, 8));
		return true;
	default:
		return false;
	}
}

static void run_other(struct vmop_cfi_program *program, uint8_t instruction)
{
	bool is_arm64 = program->section->machine == EM_AARCH64;
	switch (instruction) {
	case CFA_NOP:
		return;
	case CFA_REMEMBER_STATE:
		remember(program);
		return;
	case CFA_RESTORE_STATE:
		recall(program);
		return;
	case CFA_GNU_ARGS_SIZE:
		vmop_cfi_uleb(&program->cursor);
		return;
	case CFA_AARCH64_NEGATE_RA_STATE:
	case CFA_AARCH64_NEGATE_RA_STATE_WITH_PC:
		program->row.packed ^= UINT64_C(1) << VMOP_CFI_RA_IS_SIGNED_SHIFT;
		if (!is_arm64)
			vmop_cfi_cursor_fail(&program->cursor);
		return;
	default:
		vmop_cfi_cursor_fail(&program->cursor);
	}
}

/* Run an instruction and return whether it moved the location on. */
static bool run_instruction(struct vmop_cfi_program *program)
{
	uint8_t instruction = vmop_cfi_byte(&program->cursor);
	uint8_t operand = instruction & (uint8_t)~CFA_PRIMARY;
	switch (instruction & CFA_PRIMARY) {
	case CFA_ADVANCE_LOC:
		advance(program, operand);
		return true;
	case CFA_OFFSET:
		set_offset(program, operand, times(program, vmop_cfi_uleb(&program->cursor)));
		return false;
	case CFA_RESTORE:
		restore(program, operand);
		return false;
	default:
		break;
	}
	if (instruction == CFA_DEF_CFA_OFFSET) {
		define_cfa_offset(program, (int64_t)vmop_cfi_uleb(&program->cursor));
		return false;
	}
	if (run_cfa_rule(program, instruction) || run_register_rule(program, instruction) ||
	    run_value_rule(program, instruction))
		return false;
	if (run_advance(program, instruction))
		return true;
	run_other(program, instruction);
	return false;
}

/*
 * Run the next instruction if it is one of the few that make up most programs, with an operand of
 * one byte, and set *at behind it. False: it is another one, or moves the location on.
 */
static inline bool run_common(struct vmop_cfi_program *program, const uint8_t **at)
{
	const uint8_t *next = *at;
	uint8_t instruction = next[0];
	bool has_operand = program->cursor.end - next > 1 && next[1] < 0x80;
	if (instruction == CFA_DEF_CFA_OFFSET && has_operand &&
	    vmop_cfi_row_how(&program->row, VMOP_CFI_CFA) == VMOP_CFI_HOW_OFFSET) {
		program->row.operands[VMOP_CFI_CFA].offset = next[1];
		*at = next + 2;
		return true;
	}
	if ((instruction & CFA_PRIMARY) == CFA_OFFSET && has_operand) {
		set_offset(program, instruction & (uint8_t)~CFA_PRIMARY, times(program, next[1]));
		*at = next + 2;
		return true;
	}
	if (instruction == CFA_NOP) {
		*at = next + 1;
		return true;
	}
	if (instruction == CFA_REMEMBER_STATE && program->n_remembered < VMOP_CFI_MAX_REMEMBERED) {
		program->remembered[program->n_remembered++] = program->row;
		*at = next + 1;
		return true;
	}
	if (instruction == CFA_RESTORE_STATE && program->n_remembered) {
		program->row = program->remembered[--program->n_remembered];
		*at = next + 1;
		return true;
	}
	return false;
}

static uint64_t fp_column(uint16_t machine)
{
	return machine == EM_AARCH64 ? DWARF_AARCH64_X29 : DWARF_X86_64_RBP;
}

bool vmop_cfi_run_cie(const struct vmop_cfi_section *section, const struct vmop_cfi_cie *cie,
		      uint64_t extra_column, struct vmop_cfi_row *ret)
{
	struct vmop_cfi_program program;
	program.section = section;
	program.cie = cie;
	program.initial = NULL;
	program.at = 0;
	program.fp_column = fp_column(section->machine);
	program.extra_column = extra_column;
	program.n_remembered = 0;
	program.row = (struct vmop_cfi_row){.packed = (uint64_t)VMOP_CFI_HOW_UNDEFINED
						      << VMOP_CFI_HOW_BITS * VMOP_CFI_CFA};
	program.cursor = (struct vmop_cfi_cursor){.at = cie->program,
						  .end = cie->program + cie->program_bytes};
	while (program.cursor.at < program.cursor.end)
		if (run_instruction(&program))
			return false; /* a CIE covers no instruction */
	*ret = program.row;
	return !program.cursor.is_bad;
}

void vmop_cfi_program_begin(struct vmop_cfi_program *program,
			    const struct vmop_cfi_section *section, const struct vmop_cfi_cie *cie,
			    const struct vmop_cfi_row *initial, const struct vmop_cfi_fde *fde,
			    uint64_t extra_column)
{
	/* The remembered rows are set before they are read: clearing them would cost more than a
	 * run. */
	program->row = *initial;
	program->from = program->at = 0;
	program->is_bad = program->is_done = false;
	program->section = section;
	program->cie = cie;
	program->initial = initial;
	program->function_address = fde->function_address;
	program->fp_column = fp_column(section->machine);
	program->extra_column = extra_column;
	program->n_remembered = 0;
	program->cursor = (struct vmop_cfi_cursor){.at = fde->program,
						   .end = fde->program + fde->program_bytes};
}

bool vmop_cfi_program_next(struct vmop_cfi_program *program)
{
	const uint8_t *at = program->cursor.at;
	if (program->is_done)
		return false;
	program->from = program->at;
	while (at < program->cursor.end) {
		if ((*at & CFA_PRIMARY) == CFA_ADVANCE_LOC) {
			advance(program, *at & (uint8_t)~CFA_PRIMARY);
			program->cursor.at = at + 1;
			return true;
		}
		if (*at == CFA_ADVANCE_LOC1 && program->cursor.end - at > 1) {
			advance(program, at[1]);
			program->cursor.at = at + 2;
			return true;
		}
		if (run_common(program, &at))
			continue;
		program->cursor.at = at;
		if (run_instruction(program) && !program->cursor.is_bad)
			return true;
		at = program->cursor.at;
	}
	program->is_done = true;
	program->is_bad = program->cursor.is_bad;
	return !program->is_bad;
}
