// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ORC entry of an instruction. Internal to libstack: orc.c steps by it, and search.c
 * looks for stacks that it allows.
 */
#ifndef VMOP_LIBSTACK_KERNEL_ORC_ENTRY_H
#define VMOP_LIBSTACK_KERNEL_ORC_ENTRY_H

#include <stdbool.h>
#include <stdint.h>

struct vmop_orc;

/* The registers of entries (arch/x86/include/asm/orc_types.h: ORC_REG_). */
enum vmop_orc_register {
	VMOP_ORC_OTHER, /* one that unwinding can't know */
	VMOP_ORC_UNDEFINED,
	VMOP_ORC_PREV_SP,
	VMOP_ORC_DX,
	VMOP_ORC_DI,
	VMOP_ORC_BP,
	VMOP_ORC_SP,
	VMOP_ORC_R10,
	VMOP_ORC_R13,
	VMOP_ORC_BP_INDIRECT,
	VMOP_ORC_SP_INDIRECT,
};

/* The same file: UNWIND_HINT_TYPE_ and ORC_TYPE_, in the numbers of Linux 6.4 and later. */
enum vmop_orc_type {
	VMOP_ORC_TYPE_UNDEFINED,
	VMOP_ORC_TYPE_END,
	VMOP_ORC_TYPE_CALL,
	VMOP_ORC_TYPE_REGS,
	VMOP_ORC_TYPE_REGS_PARTIAL,
};

struct vmop_orc_entry {
	int16_t sp_offset, bp_offset;
	uint8_t sp_reg, bp_reg, type;
};

/* Return the entry of the instruction at address; outside of all sections, frame pointers'. */
struct vmop_orc_entry vmop_orc_find(const struct vmop_orc *orc, uint64_t address);

/* Return whether a section describes the code at address. */
bool vmop_orc_has_code(const struct vmop_orc *orc, uint64_t address);

#endif
