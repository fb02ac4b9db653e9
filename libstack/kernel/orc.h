// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ORC: the unwind tables in an x86-64 Linux kernel and its modules, and the stacks that they
 * unwind.
 *
 * A section has two arrays of the same length: addresses, each an int32_t relative to its own
 * place, and entries of 6 bytes (kernel: arch/x86/include/asm/orc_types.h). An entry holds from its
 * address up to the next one. Unwinding follows arch/x86/kernel/unwind_orc.c.
 *
 * Tables and stacks come from a guest and are hostile: each step moves up a stack or to another
 * one, and the number of steps is bounded. A table is immutable, any thread may read it.
 */
#ifndef VMOP_LIBSTACK_KERNEL_ORC_H
#define VMOP_LIBSTACK_KERNEL_ORC_H

#include <stddef.h>
#include <stdint.h>

#include "libstack/kernel/unwind.h"
#include "libutil/error.h"

#define VMOP_ORC_ENTRY_BYTES 6u
/* An address and an entry. */
#define VMOP_ORC_BYTES (VMOP_ORC_ENTRY_BYTES + 4u)

/*
 * The bit fields of struct orc_entry, which differ between kernels. Bits count from the start of
 * the entry.
 */
struct vmop_orc_format {
	uint8_t type_bit, type_bits; /* 2 bits before Linux 6.4, 3 since */
	/*
	 * Before Linux 6.4: the flag of the outermost frame, which is a type since. 0: no such
	 * flag.
	 */
	uint8_t end_bit;
};

struct vmop_orc_section {
	uint64_t text_start, text_end; /* the code that the section describes */
	uint64_t ip_address;	       /* of the array of addresses, in the kernel */
	size_t n;		       /* entries */
	const uint8_t *ips;	       /* 4 * n bytes */
	const uint8_t *entries;	       /* VMOP_ORC_ENTRY_BYTES * n bytes */
};

struct vmop_orc;

/*
 * Copy sections, which may come in any order. The caller owns *ret. VMOP_ERROR_CORRUPT: the format
 * is not one of the above.
 */
struct vmop_error *vmop_orc_create(const struct vmop_orc_format *format,
				   const struct vmop_orc_section *sections, size_t n_sections,
				   struct vmop_orc **ret);
void vmop_orc_destroy(struct vmop_orc *orc); /* NULL is allowed */

/*
 * Unwind a kernel stack into frames[0..max_frames), max_frames being at least 1. Code that no
 * section describes (BPF, trampolines) is unwound by frame pointers, as the kernel does.
 */
void vmop_orc_unwind(const struct vmop_orc *orc, const struct vmop_kernel_regs *regs,
		     const struct vmop_kernel_memory *memory, struct vmop_stack_frame *frames,
		     size_t max_frames, struct vmop_kernel_unwound *ret);

#endif
