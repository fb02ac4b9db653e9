// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Unwinding of a captured stack: from registers and a copy of the top of the stack to the addresses
 * of all callers, by unwind tables (table.h), by a function's CFI itself where a table can't
 * express a frame, and by frame pointers in code without tables (JIT).
 *
 * libstack turns the captured stack of a sample into frames. Callers: daemon/stack, which owns the
 * tables. Data meets the files in this order:
 *	cfi.h		.eh_frame and .debug_frame: entries and their programs (hostile input)
 *	table.h		rules by instruction, built from them
 *	unwind.h	frames of a captured stack, by those rules
 *	entry-step.h	frames that need a function's raw CFI
 *	expression.h	DWARF expressions in it
 *
 * The captured stack is untrusted. No byte outside it is read, each step moves up the stack, and
 * the number of steps is bounded. One thread per unwinder.
 */
#ifndef VMOP_LIBSTACK_UNWIND_H
#define VMOP_LIBSTACK_UNWIND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libstack/table.h"
#include "vmop/stack.h"

/* Whether a piece of code has a table. */
enum vmop_code_state {
	VMOP_CODE_HAS_TABLE,
	VMOP_CODE_NO_TABLE,   /* generated code, or an image without CFI */
	VMOP_CODE_UNREADABLE, /* its file could not be read, or is too large or damaged */
	VMOP_CODE_PENDING,    /* its table is being built */
};

/* An executable mapping. */
struct vmop_code_piece {
	uint64_t start, end;
	uint64_t offset;		    /* of start, in the table's terms */
	const struct vmop_cfi_table *table; /* NULL unless VMOP_CODE_HAS_TABLE */
	enum vmop_code_state state;
	const void *mapping; /* the caller's: frames in the piece have it */
};

/* The address space of the sampled task. */
struct vmop_code_space {
	/* Set *ret to the executable mapping that contains address. Return false if none does. */
	bool (*find)(void *arg, uint64_t address, struct vmop_code_piece *ret);
	void *arg;
};

struct vmop_stack_frame {
	uint64_t address;
	/*
	 * The address is that of an interrupted instruction: the innermost one, or the one that a
	 * signal interrupted. Else it is a return address, and the call is just before it.
	 */
	bool is_interrupted;
	const void *mapping; /* of the code's piece; NULL: the innermost frame is in no piece */
};

struct vmop_unwound {
	size_t n_frames; /* innermost first; frame 0 is the interrupted or system call's address */
	enum vmop_stack_end end;
	uint64_t pending_address; /* with VMOP_STACK_TABLE_LATE: in the piece that is pending */
	uint32_t n_by_frame_pointer, n_by_expression; /* frames that were found so */
};

struct vmop_unwinder;

/* Create an unwinder for the stacks of a machine, EM_X86_64 or EM_AARCH64. */
struct vmop_error *vmop_unwinder_create(uint16_t machine, struct vmop_unwinder **ret);
void vmop_unwinder_destroy(struct vmop_unwinder *unwinder); /* NULL is allowed */

/*
 * Unwind the user stack in capture, which has user_regs, into frames[0..max_frames), max_frames
 * being at least 1. Allocates nothing.
 */
void vmop_unwind(struct vmop_unwinder *unwinder, const struct vmop_code_space *space,
		 const struct vmop_stack_capture *capture, struct vmop_stack_frame *frames,
		 size_t max_frames, struct vmop_unwound *ret);

#endif
