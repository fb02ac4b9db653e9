// SPDX-License-Identifier: GPL-2.0-or-later
/* The geometry of a guest's page tables; page-table.h walks them. */
#ifndef VMOP_LIBGUEST_MEMORY_PAGING_H
#define VMOP_LIBGUEST_MEMORY_PAGING_H

#include <stdbool.h>
#include <stdint.h>

enum vmop_paging_arch {
	VMOP_PAGING_X86_64,
	VMOP_PAGING_ARM64,
};

/* One address space. On arm64 one half of it, because each half has its own root. */
struct vmop_paging {
	enum vmop_paging_arch arch;
	unsigned int levels; /* x86-64: 4 or 5; arm64: 2 to 5 */
	uint64_t root_gpa;
	/* only arm64: set by vmop_arm64_paging() */
	unsigned int page_shift; /* 12, 14 or 16 */
	unsigned int va_bits;	 /* of the half, 36 to 52 */
	bool is_upper_half;	 /* the kernel's (TTBR1), not the user's (TTBR0) */
};

/* Return the size of the guest's smallest page in bytes. */
static inline uint64_t vmop_paging_page_bytes(const struct vmop_paging *paging)
{
	return paging->arch == VMOP_PAGING_ARM64 ? UINT64_C(1) << paging->page_shift : 4096;
}

#endif
