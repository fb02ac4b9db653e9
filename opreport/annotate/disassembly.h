// SPDX-License-Identifier: GPL-2.0-or-later
/* Machine code as text, by capstone. */
#ifndef VMOP_OPREPORT_ANNOTATE_DISASSEMBLY_H
#define VMOP_OPREPORT_ANNOTATE_DISASSEMBLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libsym/code.h"
#include "libutil/error.h"

enum vmop_syntax { VMOP_SYNTAX_ATT, VMOP_SYNTAX_INTEL }; /* of x86's assembly */

struct vmop_disassembler;

/* An instruction, or bytes that are none: ".byte 0x06". */
struct vmop_instruction {
	uint64_t address;
	size_t len_bytes;
	char text[256]; /* plain ASCII */
};

/* Return whether this build can disassemble. */
bool vmop_disassembler_exists(void);

/*
 * Create a disassembler. VMOP_ERROR_CANT: the build has none, or none for the machine; the message
 * states what to do. The caller destroys *ret.
 */
struct vmop_error *vmop_disassembler_create(enum vmop_machine machine, enum vmop_syntax syntax,
					    struct vmop_disassembler **ret);
void vmop_disassembler_destroy(struct vmop_disassembler *disassembler); /* NULL is allowed */

/*
 * Decode the instruction at the start of code, which is at address. Return false if len_bytes is 0.
 * Any bytes are accepted; at least one is consumed.
 */
bool vmop_disassembler_next(struct vmop_disassembler *disassembler, const uint8_t *code,
			    size_t len_bytes, uint64_t address, struct vmop_instruction *ret);

#endif
