// SPDX-License-Identifier: GPL-2.0-or-later
#include "libstack/entry-step.h"

#include "libstack/cfi-program.h"
#include "libstack/expression.h"

struct step {
	const struct vmop_machine *machine;
	const struct vmop_stack_copy *copy;
	const struct vmop_frame *frame;
	uint64_t cfa;
	uint64_t fault;
};

/* Find the row of CFI for the code at an ELF address. False: no row has it. */
static bool find_row(const struct vmop_cfi_entry *entry, const struct vmop_machine *machine,
		     uint64_t address, struct vmop_cfi_row *ret)
{
	uint64_t extra_column =
		machine->extra == VMOP_NO_REGISTER ? VMOP_CFI_NO_COLUMN : machine->extra;
	const struct vmop_cfi_section cies = {.bytes = entry->cie,
					      .len_bytes = entry->cie_bytes,
					      .address = entry->cie_address,
					      .is_debug_frame = entry->is_debug_frame,
					      .machine = machine->elf_machine};
	const struct vmop_cfi_section fdes = {.bytes = entry->fde,
					      .len_bytes = entry->fde_bytes,
					      .address = entry->fde_address,
					      .is_debug_frame = entry->is_debug_frame,
					      .machine = machine->elf_machine};
	struct vmop_cfi_record record;
	struct vmop_cfi_cie cie;
	struct vmop_cfi_fde fde;
	struct vmop_cfi_row initial;
	struct vmop_cfi_program program;
	size_t offset = 0;
	bool found = false;
	if (!vmop_cfi_read_cie(&cies, 0, &cie) ||
	    !vmop_cfi_run_cie(&cies, &cie, extra_column, &initial) ||
	    !vmop_cfi_next_record(&fdes, &offset, &record) || record.is_cie ||
	    !vmop_cfi_read_fde(&fdes, &record, &cie, &fde) ||
	    address - fde.function_address >= fde.function_bytes)
		return false;
	vmop_cfi_program_begin(&program, &fdes, &cie, &initial, &fde, extra_column);
	while (vmop_cfi_program_next(&program) && program.from <= address - fde.function_address) {
		*ret = program.row;
		found = true;
	}
	/* Damage leaves nothing known from there on. */
	return found && !(program.is_bad && program.from <= address - fde.function_address);
}

static bool read_memory(struct step *step, uint64_t address, uint64_t *ret)
{
	if (vmop_stack_copy_read(step->copy, address, ret))
		return true;
	step->fault = address;
	return false;
}

static bool evaluate(struct step *step, union vmop_cfi_operand operand, size_t n_initial,
		     uint64_t *ret)
{
	uint64_t len_bytes;
	const uint8_t *bytes = vmop_cfi_expression(operand, &len_bytes);
	const struct vmop_expression expression = {bytes, len_bytes, step->frame, step->copy};
	return vmop_expression_evaluate(&expression, step->cfa, n_initial, ret, &step->fault);
}

static bool read_register(const struct step *step, uint64_t reg, uint64_t *ret)
{
	if (reg >= VMOP_USER_REGS || !vmop_frame_knows(step->frame, (unsigned)reg))
		return false;
	*ret = step->frame->regs[reg];
	return true;
}

static bool find_cfa(struct step *step, const struct vmop_cfi_row *row)
{
	const struct vmop_cfi_value cfa = vmop_cfi_row_value(row, VMOP_CFI_CFA);
	uint64_t base;
	if (cfa.how == VMOP_CFI_HOW_EXPRESSION)
		return evaluate(step, cfa.operand, 0, &step->cfa);
	if (cfa.how != VMOP_CFI_HOW_OFFSET ||
	    !read_register(step, vmop_cfi_row_cfa_register(row), &base))
		return false;
	step->cfa = base + (uint64_t)cfa.operand.offset;
	return true;
}

/* Find the caller's value of a register. */
static bool find_value(struct step *step, const struct vmop_cfi_row *row, enum vmop_cfi_place which,
		       unsigned reg, uint64_t *ret)
{
	const struct vmop_cfi_value value = vmop_cfi_row_value(row, which);
	uint64_t place, sp = step->frame->regs[step->machine->sp];
	switch ((enum vmop_cfi_how)value.how) {
	case VMOP_CFI_HOW_SAME:
		return read_register(step, reg, ret);
	case VMOP_CFI_HOW_REGISTER:
		return read_register(step, (uint64_t)value.operand.offset, ret);
	case VMOP_CFI_HOW_OFFSET:
		place = step->cfa + (uint64_t)value.operand.offset;
		if (place < sp) /* popped already, in an epilogue */
			return read_register(step, reg, ret);
		return read_memory(step, place, ret);
	case VMOP_CFI_HOW_EXPRESSION:
		return evaluate(step, value.operand, 1, &place) && read_memory(step, place, ret);
	case VMOP_CFI_HOW_VALUE_EXPRESSION:
		return evaluate(step, value.operand, 1, ret);
	case VMOP_CFI_HOW_VALUE_OFFSET:
		*ret = step->cfa + (uint64_t)value.operand.offset;
		return true;
	default:
		return false;
	}
}

bool vmop_entry_step(const struct vmop_machine *machine, const struct vmop_cfi_entry *entry,
		     uint64_t bias, const struct vmop_stack_copy *copy, struct vmop_frame *frame,
		     size_t *left_bytes, uint64_t *ret_fault)
{
	struct step step = {.machine = machine, .copy = copy, .frame = frame};
	struct vmop_frame caller = {.floor = frame->floor};
	struct vmop_cfi_row row;
	size_t len_bytes = entry->fde_bytes + entry->cie_bytes;
	*ret_fault = 0;
	if (len_bytes > *left_bytes)
		return false;
	*left_bytes -= len_bytes;
	if (!find_row(entry, machine, vmop_frame_code_address(frame, machine->pc) - bias, &row))
		return false;
	bool ok = find_cfa(&step, &row) &&
		  find_value(&step, &row, VMOP_CFI_RA, machine->link, &caller.regs[machine->pc]);
	*ret_fault = step.fault;
	if (!ok)
		return false;
	caller.regs[machine->sp] = step.cfa;
	caller.known = UINT64_C(1) << machine->sp | UINT64_C(1) << machine->pc;
	if (find_value(&step, &row, VMOP_CFI_FP, machine->fp, &caller.regs[machine->fp]))
		caller.known |= UINT64_C(1) << machine->fp;
	if (machine->extra != VMOP_NO_REGISTER &&
	    find_value(&step, &row, VMOP_CFI_EXTRA, machine->extra, &caller.regs[machine->extra]))
		caller.known |= UINT64_C(1) << machine->extra;
	*frame = caller;
	return true;
}
