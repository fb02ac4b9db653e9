// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The user stacks of a guest's waiting threads, by the CFI and symbols in the files that the guest
 * has mapped, as far as their pages and those of the stack are in the guest's memory.
 *
 * Files are read once, and kept up to a limit of memory.
 *
 * Thread: that of the vmop_guest. No function may be called from a visitor of libguest.
 */
#ifndef VMOP_DAEMON_GUEST_STACKS_USER_STACKS_H
#define VMOP_DAEMON_GUEST_STACKS_USER_STACKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libguest/guest.h"
#include "libstack/unwind.h"
#include "libutil/error.h"

struct vmop_user_stacks;

/*
 * Create an object without processes, which the caller owns. guest must outlive it. has_symbols:
 * vmop_user_stacks_place() returns symbols, which take memory. The only error is that of memory.
 */
struct vmop_error *vmop_user_stacks_create(struct vmop_guest *guest, bool has_symbols,
					   struct vmop_user_stacks **ret);
void vmop_user_stacks_destroy(struct vmop_user_stacks *stacks); /* NULL is allowed */

/*
 * Use the processes and mappings of snapshot from now on; it must outlive its use. In all calls
 * until the next one, files are read for at most about max_cpu_ns (0: no limit). Stacks through
 * others end with VMOP_STACK_TABLE_LATE.
 */
void vmop_user_stacks_begin(struct vmop_user_stacks *stacks,
			    const struct vmop_guest_snapshot *snapshot, uint64_t max_cpu_ns);

/*
 * Unwind the stack of a thread of process pid, which entered the kernel with VMOP_USER_REGS
 * registers. pgd_gpa: of its page table. VMOP_STACK_UNREADABLE: the process was not read, or it has
 * no mappings.
 */
void vmop_user_stacks_unwind(struct vmop_user_stacks *stacks, uint32_t pid, uint64_t pgd_gpa,
			     const uint64_t *regs, struct vmop_stack_frame *frames,
			     size_t max_frames, struct vmop_unwound *ret);

struct vmop_user_place {
	const char *path;   /* of the mapping, or NULL: no mapping is there */
	uint64_t offset;    /* in the file */
	const char *symbol; /* the function, or NULL */
	uint64_t symbol_offset;
};

/* Set *ret to the place of an address of process pid. Its texts are valid until the destruction. */
void vmop_user_stacks_place(struct vmop_user_stacks *stacks, uint32_t pid, uint64_t address,
			    struct vmop_user_place *ret);

#endif
