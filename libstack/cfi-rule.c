// SPDX-License-Identifier: GPL-2.0-or-later
#include "libstack/cfi-rule.h"

#include <elf.h>
#include <string.h>

#include "libstack/cfi-program.h"
#include "libstack/table.h"

/* Operations of expressions (DWARF 5, section 7.7.1). */
enum {
	OP_DEREF = 0x06,
	OP_AND = 0x1a,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_GE = 0x2a,
	OP_LIT0 = 0x30,
	OP_LIT31 = 0x4f,
	OP_BREG0 = 0x70,
	OP_BREG31 = 0x8f,
};

enum { DWARF_X86_64_RBP = 6, DWARF_AARCH64_X29 = 29, N_X86_64_REGISTERS = 17 };

/* The sum that an expression computes: [*](register + offset) + addend. */
struct sum {
	uint8_t reg;
	bool is_deref;
	int64_t offset, addend;
};

static bool set_i32(int32_t *ret, int64_t value)
{
	*ret = (int32_t)value;
	return *ret == value;
}

/* Read an expression of the form bregN, then perhaps deref, then perhaps plus_uconst. */
static bool read_sum(union vmop_cfi_operand operand, struct sum *ret)
{
	uint64_t len_bytes;
	const uint8_t *at = vmop_cfi_expression(operand, &len_bytes);
	struct vmop_cfi_cursor cursor = {.at = at, .end = at + len_bytes};
	uint8_t op = vmop_cfi_byte(&cursor);
	if (op < OP_BREG0 || op > OP_BREG31)
		return false;
	*ret = (struct sum){.reg = op - OP_BREG0, .offset = vmop_cfi_sleb(&cursor)};
	if (cursor.at < cursor.end && *cursor.at == OP_DEREF) {
		ret->is_deref = true;
		cursor.at++;
	}
	if (cursor.at < cursor.end && *cursor.at == OP_PLUS_UCONST) {
		cursor.at++;
		ret->addend = (int64_t)vmop_cfi_uleb(&cursor);
	}
	return !cursor.is_bad && cursor.at == cursor.end;
}

/*
 * Recognise the CFA of the linkers' PLT, in which every stub of 16 bytes pushes 8 bytes at byte N:
 * breg7 8, breg16 0, lit15, and, litN, ge, lit3, shl, plus.
 */
static bool read_plt(union vmop_cfi_operand operand, struct vmop_cfi_rule *ret)
{
	static const uint8_t head[] = {OP_BREG0 + 7, 8, OP_BREG0 + 16, 0, OP_LIT0 + 15, OP_AND};
	static const uint8_t tail[] = {OP_GE, OP_LIT0 + 3, OP_SHL, OP_PLUS};
	uint64_t len_bytes;
	const uint8_t *at = vmop_cfi_expression(operand, &len_bytes);
	if (len_bytes != sizeof(head) + 1 + sizeof(tail) || memcmp(at, head, sizeof(head)) != 0 ||
	    memcmp(at + sizeof(head) + 1, tail, sizeof(tail)) != 0)
		return false;
	uint8_t literal = at[sizeof(head)];
	if (literal < OP_LIT0 || literal > OP_LIT31)
		return false;
	ret->kind = VMOP_CFI_PLT;
	ret->cfa_offset = literal - OP_LIT0;
	return true;
}

static bool set_cfa_by_sum(const struct sum *sum, struct vmop_cfi_rule *ret)
{
	int64_t offset = sum->offset;
	ret->cfa_register = sum->reg;
	if (sum->is_deref) {
		ret->kind = VMOP_CFI_DEREF;
		return set_i32(&ret->cfa_offset, offset) && set_i32(&ret->cfa_addend, sum->addend);
	}
	ret->kind = VMOP_CFI_REGISTER;
	return !__builtin_add_overflow(offset, sum->addend, &offset) &&
	       set_i32(&ret->cfa_offset, offset);
}

static bool set_cfa(const struct vmop_cfi_row *row, uint16_t machine, struct vmop_cfi_rule *ret)
{
	struct sum sum;
	uint64_t n_registers = machine == EM_AARCH64 ? 32 : N_X86_64_REGISTERS;
	const struct vmop_cfi_value cfa = vmop_cfi_row_value(row, VMOP_CFI_CFA);
	if (cfa.how == VMOP_CFI_HOW_OFFSET) {
		ret->kind = VMOP_CFI_REGISTER;
		ret->cfa_register = vmop_cfi_row_cfa_register(row);
		return vmop_cfi_row_cfa_register(row) < n_registers &&
		       set_i32(&ret->cfa_offset, cfa.operand.offset);
	}
	if (cfa.how != VMOP_CFI_HOW_EXPRESSION)
		return false;
	if (machine == EM_X86_64 && read_plt(cfa.operand, ret))
		return true;
	return read_sum(cfa.operand, &sum) && sum.reg < n_registers && set_cfa_by_sum(&sum, ret);
}

/* Set where a register is saved. False: it needs an expression. */
static bool set_saved(struct vmop_cfi_value value, uint16_t machine, uint8_t *ret_saved,
		      int32_t *ret_offset)
{
	struct sum sum;
	uint8_t fp = machine == EM_AARCH64 ? DWARF_AARCH64_X29 : DWARF_X86_64_RBP;
	switch (value.how) {
	case VMOP_CFI_HOW_SAME:
		*ret_saved = VMOP_CFI_SAME;
		return true;
	case VMOP_CFI_HOW_OFFSET:
		*ret_saved = VMOP_CFI_AT_CFA;
		return set_i32(ret_offset, value.operand.offset);
	case VMOP_CFI_HOW_UNDEFINED:
		*ret_saved = VMOP_CFI_LOST;
		return true;
	case VMOP_CFI_HOW_EXPRESSION:
		*ret_saved = VMOP_CFI_AT_FP;
		return read_sum(value.operand, &sum) && sum.reg == fp && !sum.is_deref &&
		       sum.addend == 0 && set_i32(ret_offset, sum.offset);
	default:
		return false;
	}
}

/* Set where the extra register is saved. Where that is not simple, it is lost. */
static void set_extra(struct vmop_cfi_value value, struct vmop_cfi_rule *ret)
{
	ret->extra_saved = VMOP_CFI_LOST;
	if (value.how == VMOP_CFI_HOW_SAME) {
		ret->extra_saved = VMOP_CFI_SAME;
	} else if (value.how == VMOP_CFI_HOW_OFFSET &&
		   value.operand.offset == (int16_t)value.operand.offset) {
		ret->extra_saved = VMOP_CFI_AT_CFA;
		ret->extra_offset = (int16_t)value.operand.offset;
	}
}

static void set_kind(struct vmop_cfi_rule *rule, enum vmop_cfi_kind kind)
{
	memset(rule, 0, sizeof(*rule));
	rule->kind = (uint8_t)kind;
}

void vmop_cfi_rule_of_row(const struct vmop_cfi_row *row, struct vmop_cfi_row_kind kind,
			  bool is_signal, struct vmop_cfi_rule *ret)
{
	uint16_t machine = kind.machine;
	memset(ret, 0, sizeof(*ret));
	if (is_signal) {
		set_kind(ret, VMOP_CFI_SIGNAL);
		return;
	}
	if (vmop_cfi_row_how(row, VMOP_CFI_RA) == VMOP_CFI_HOW_UNDEFINED) {
		set_kind(ret, VMOP_CFI_END);
		return;
	}
	ret->extra_saved = VMOP_CFI_LOST;
	if (kind.has_extra)
		set_extra(vmop_cfi_row_value(row, VMOP_CFI_EXTRA), ret);
	ret->ra_is_signed = vmop_cfi_row_ra_is_signed(row);
	if (!set_cfa(row, machine, ret) ||
	    !set_saved(vmop_cfi_row_value(row, VMOP_CFI_FP), machine, &ret->fp_saved,
		       &ret->fp_offset) ||
	    !set_saved(vmop_cfi_row_value(row, VMOP_CFI_RA), machine, &ret->ra_saved,
		       &ret->ra_offset))
		set_kind(ret, VMOP_CFI_EXPRESSION);
}
