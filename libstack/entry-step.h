// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * One step up a stack by the raw CFI of a function, for frames that a table can't express: their
 * CFI contains DWARF expressions, or keeps the return address in a register. The CFI is untrusted;
 * the work of a step is bounded by its length.
 */
#ifndef VMOP_LIBSTACK_ENTRY_STEP_H
#define VMOP_LIBSTACK_ENTRY_STEP_H

#include "libstack/frame.h"
#include "libstack/table.h"

/* The bytes of CFI that the steps of one stack may read together: some hundred for each. */
enum { VMOP_ENTRY_STEP_BYTES = 256 << 10 };

/*
 * Replace *frame by its caller's frame: the stack pointer, the return address and, if they can
 * be found, the frame pointer and the machine's extra register. entry is the CFI of the frame's
 * function, and bias the difference between addresses in the process and in the ELF file. The
 * entry's length is taken from *left_bytes. False: the frame is as before, and *ret_fault is the
 * address outside the copy that was needed, or 0.
 */
bool vmop_entry_step(const struct vmop_machine *machine, const struct vmop_cfi_entry *entry,
		     uint64_t bias, const struct vmop_stack_copy *copy, struct vmop_frame *frame,
		     size_t *left_bytes, uint64_t *ret_fault);

#endif
