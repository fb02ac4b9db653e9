// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The tables that unwind the stacks of a guest's kernel: its ORC tables with those of its modules,
 * or the fact that it keeps frame pointers or frame records instead.
 *
 * Thread: of functions with a vmop_guest, that of the guest. The tables are immutable, and any
 * thread may read them.
 */
#ifndef VMOP_DAEMON_GUEST_STACKS_ORC_TABLES_H
#define VMOP_DAEMON_GUEST_STACKS_ORC_TABLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libguest/guest.h"
#include "libstack/kernel/unwind.h"
#include "libutil/error.h"

struct vmop_guest_kernel_text;
struct vmop_orc;

struct vmop_guest_orc_tables {
	unsigned refs;			   /* atomic */
	uint32_t code_generation;	   /* of the code that they describe (vmop_guest_code) */
	bool is_arm64;			   /* frame records */
	struct vmop_frame_records records; /* arm64 */
	struct vmop_orc *orc;		   /* x86-64; NULL: frame pointers */
	enum vmop_stack_end unusable;	   /* not 0: the tables can't be used, for this reason */
	/*
	 * With ORC, for stacks whose stack pointer is not known; on arm64 for callers in the link
	 * register. May be NULL.
	 */
	struct vmop_guest_kernel_text *text;
	bool has_code; /* the code was wanted in text */
};

/*
 * Read the tables of the kernel that was found. The caller owns *ret. VMOP_ERROR_NOT_FOUND: no
 * kernel is known. VMOP_ERROR_CANT, VMOP_ERROR_CORRUPT: the form of its ORC tables is not known.
 */
struct vmop_error *vmop_guest_orc_tables_read(struct vmop_guest *guest,
					      struct vmop_guest_orc_tables **ret);

/*
 * The same for a view: tables that can't be read have the reason in `unusable`. They have a text
 * too, with its code if has_code. before: the tables that they replace, or NULL. NULL: out of
 * memory.
 */
struct vmop_guest_orc_tables *
vmop_guest_orc_tables_publish(struct vmop_guest *guest, uint32_t code_generation, bool has_code,
			      const struct vmop_guest_orc_tables *before);

struct vmop_guest_orc_tables *vmop_guest_orc_tables_ref(struct vmop_guest_orc_tables *tables);
void vmop_guest_orc_tables_unref(struct vmop_guest_orc_tables *tables); /* NULL is allowed */

/* Unwind a kernel stack by usable tables; arguments as for vmop_orc_unwind(). */
void vmop_guest_orc_tables_unwind(const struct vmop_guest_orc_tables *tables,
				  const struct vmop_kernel_regs *regs,
				  const struct vmop_kernel_memory *memory,
				  struct vmop_stack_frame *frames, size_t max_frames,
				  struct vmop_kernel_unwound *ret);

#endif
