// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CIEs of a section that were read and run already. An image has a few, which thousands of FDEs
 * share; a hostile one may have any number, and then some are read again.
 */
#ifndef VMOP_LIBSTACK_CIE_CACHE_H
#define VMOP_LIBSTACK_CIE_CACHE_H

#include <stdbool.h>
#include <stdint.h>

#include "libstack/cfi-program.h"
#include "libstack/cfi.h"

enum { VMOP_CIE_CACHE_SLOTS = 32 };

struct vmop_cfi_budget;

struct vmop_cached_cie {
	uint64_t key; /* the CIE's offset + 1; 0: the slot is empty */
	bool is_good;
	struct vmop_cfi_cie cie;
	struct vmop_cfi_row initial;
};

/* The section may not change while the cache is used. */
struct vmop_cie_cache {
	uint64_t extra_column; /* of the rows */
	struct vmop_cached_cie slots[VMOP_CIE_CACHE_SLOTS];
};

/* Empty a cache. extra_column is that of vmop_cfi_run_cie(). */
void vmop_cie_cache_init(struct vmop_cie_cache *cache, uint64_t extra_column);

/*
 * Return the CIE at an offset of the section, valid until the next call. NULL: no CIE that
 * can be used. Reading a CIE is counted as work of the budget.
 */
const struct vmop_cached_cie *vmop_cie_cache_get(struct vmop_cie_cache *cache,
						 const struct vmop_cfi_section *section,
						 uint64_t offset, struct vmop_cfi_budget *budget);

#endif
