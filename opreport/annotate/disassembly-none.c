// SPDX-License-Identifier: GPL-2.0-or-later
/* For builds without capstone. */
#include "opreport/annotate/disassembly.h"

bool vmop_disassembler_exists(void)
{
	return false;
}

struct vmop_error *vmop_disassembler_create(enum vmop_machine machine, enum vmop_syntax syntax,
					    struct vmop_disassembler **ret)
{
	(void)machine;
	(void)syntax;
	(void)ret;
	return vmop_error_new(VMOP_ERROR_CANT,
			      "--assembly: vmop was built without capstone (configure names its "
			      "package); --source works");
}

void vmop_disassembler_destroy(struct vmop_disassembler *disassembler)
{
	(void)disassembler;
}

bool vmop_disassembler_next(struct vmop_disassembler *disassembler, const uint8_t *code,
			    size_t len_bytes, uint64_t address, struct vmop_instruction *ret)
{
	(void)disassembler;
	(void)code;
	(void)len_bytes;
	(void)address;
	(void)ret;
	return false;
}
