// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The walk of arm64's stage 1 page tables (Arm ARM, DDI 0487, D8.2 and D8.3).
 *
 * Granules of 4, 16 and 64 KiB; 36 to 52 bits of address in each half.  Bit 55
 * tells the half (TTBR0: user, TTBR1: kernel); the byte above it is ignored, as
 * Linux has it for tagged pointers.  The bits between must repeat bit 55, so a
 * pointer that still has its authentication code is not an address.
 *
 * Output addresses have 52 bits with 64 KiB pages (FEAT_LPA), and with smaller
 * ones where addresses have 52 (TCR_EL1.DS, FEAT_LPA2: Linux sets it exactly
 * then, arch/arm64/mm/proc.S).  The contiguous hint changes no translation.
 */
#ifndef VMOP_LIBGUEST_MEMORY_PAGE_TABLE_ARM64_H
#define VMOP_LIBGUEST_MEMORY_PAGE_TABLE_ARM64_H

#include <stdbool.h>
#include <stdint.h>

#include "libguest/memory/page-table.h"

struct vmop_arm64_leaf {
	uint64_t gpa;
	uint64_t page_bytes; /* of the page or block; of what is missing, where nothing is mapped */
	uint64_t descriptor; /* only where something is mapped */
};

#define VMOP_ARM64_NOT_GLOBAL (UINT64_C(1) << 11) /* nG: KPTI maps the kernel so */

/*
 * A half's address space with its root table; false: no kernel has such tables.
 * page_shift: 12, 14 or 16; va_bits: 64 - TnSZ.
 */
bool vmop_arm64_paging(unsigned int page_shift, unsigned int va_bits, uint64_t root_gpa,
		       bool is_upper_half, struct vmop_paging *ret);

/* Looks at no more descriptors than there are levels, whatever they say. */
bool vmop_arm64_walk(struct vmop_view *view, uint64_t address, struct vmop_arm64_leaf *ret);

#endif
