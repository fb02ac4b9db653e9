// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The walk of arm64's stage 1 page tables (Arm ARM, DDI 0487, D8.2 and D8.3).
 *
 * Granules are 4, 16 and 64 KiB, and each half has 36 to 52 bits of address. Bit 55 selects the
 * half (0: TTBR0, user; 1: TTBR1, kernel). The byte above it is ignored, as Linux configures it for
 * tagged pointers. The bits between must repeat bit 55, so a pointer that still has its
 * authentication code is not an address.
 *
 * Output addresses have 52 bits with 64 KiB pages (FEAT_LPA). With smaller pages they have 52 bits
 * exactly when virtual addresses have 52 (TCR_EL1.DS, FEAT_LPA2: set by Linux's
 * arch/arm64/mm/proc.S). The contiguous hint changes no translation.
 */
#ifndef VMOP_LIBGUEST_MEMORY_PAGE_TABLE_ARM64_H
#define VMOP_LIBGUEST_MEMORY_PAGE_TABLE_ARM64_H

#include <stdbool.h>
#include <stdint.h>

#include "libguest/memory/page-table.h"

struct vmop_arm64_leaf {
	uint64_t gpa;
	uint64_t page_bytes; /* of the page or block; unmapped: of its entry */
	uint64_t descriptor; /* valid only where something is mapped */
};

#define VMOP_ARM64_NOT_GLOBAL (UINT64_C(1) << 11) /* nG: set in the kernel's pages under KPTI */

/*
 * Set *ret to the paging of one half with its root table. page_shift is 12, 14 or 16; va_bits is 64
 * - TnSZ. Return false when no kernel uses such tables.
 */
bool vmop_arm64_paging(unsigned int page_shift, unsigned int va_bits, uint64_t root_gpa,
		       bool is_upper_half, struct vmop_paging *ret);

/*
 * Walk the tables of space to address. Reads at most one descriptor per level, whatever the tables
 * contain. Return false when nothing is mapped there.
 */
bool vmop_arm64_walk(struct vmop_guest_space *space, uint64_t address, struct vmop_arm64_leaf *ret);

#endif
