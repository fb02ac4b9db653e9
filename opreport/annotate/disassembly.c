// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/annotate/disassembly.h"

#include <capstone.h>
#include <stdio.h>
#include <stdlib.h>

struct vmop_disassembler {
	csh handle;
	cs_insn *instruction; /* room for one */
	bool has_fixed_length;
};

bool vmop_disassembler_exists(void)
{
	return true;
}

struct vmop_error *vmop_disassembler_create(enum vmop_machine machine, enum vmop_syntax syntax,
					    struct vmop_disassembler **ret)
{
	if (machine == VMOP_MACHINE_OTHER)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "code is disassembled for x86-64 and arm64 only");
	struct vmop_disassembler *disassembler = calloc(1, sizeof(*disassembler));
	if (!disassembler)
		return &vmop_error_no_memory;
	bool is_arm = machine == VMOP_MACHINE_ARM64;
	cs_err failed =
		is_arm ? cs_open(CS_ARCH_ARM64, CS_MODE_LITTLE_ENDIAN, &disassembler->handle)
		       : cs_open(CS_ARCH_X86, CS_MODE_64, &disassembler->handle);
	if (failed) {
		free(disassembler);
		return vmop_error_new(VMOP_ERROR_CANT, "capstone: %s", cs_strerror(failed));
	}
	disassembler->has_fixed_length = is_arm;
	if (!is_arm && syntax == VMOP_SYNTAX_ATT)
		cs_option(disassembler->handle, CS_OPT_SYNTAX, CS_OPT_SYNTAX_ATT);
	disassembler->instruction = cs_malloc(disassembler->handle);
	if (!disassembler->instruction) {
		vmop_disassembler_destroy(disassembler);
		return &vmop_error_no_memory;
	}
	*ret = disassembler;
	return NULL;
}

void vmop_disassembler_destroy(struct vmop_disassembler *disassembler)
{
	if (!disassembler)
		return;
	if (disassembler->instruction)
		cs_free(disassembler->instruction, 1);
	cs_close(&disassembler->handle);
	free(disassembler);
}

/* Write bytes that are no instruction: a byte or, on arm64, a word. */
static void take_bytes(const struct vmop_disassembler *disassembler, const uint8_t *code,
		       size_t len_bytes, struct vmop_instruction *ret)
{
	bool is_word = disassembler->has_fixed_length && len_bytes >= 4;
	ret->len_bytes = is_word ? 4 : 1;
	if (is_word)
		snprintf(ret->text, sizeof(ret->text), ".inst 0x%02x%02x%02x%02x", code[3], code[2],
			 code[1], code[0]);
	else
		snprintf(ret->text, sizeof(ret->text), ".byte 0x%02x", code[0]);
}

bool vmop_disassembler_next(struct vmop_disassembler *disassembler, const uint8_t *code,
			    size_t len_bytes, uint64_t address, struct vmop_instruction *ret)
{
	const uint8_t *at = code;
	size_t left = len_bytes;
	uint64_t next = address;
	ret->address = address;
	if (!len_bytes)
		return false;
	const cs_insn *instruction = disassembler->instruction;
	if (!cs_disasm_iter(disassembler->handle, &at, &left, &next, disassembler->instruction) ||
	    !instruction->size || instruction->size > len_bytes) {
		take_bytes(disassembler, code, len_bytes, ret);
		return true;
	}
	ret->len_bytes = instruction->size;
	snprintf(ret->text, sizeof(ret->text), "%s%s%s", instruction->mnemonic,
		 *instruction->op_str ? " " : "", instruction->op_str);
	return true;
}
