// SPDX-License-Identifier: GPL-2.0-or-later
#include "libstack/cie-cache.h"

#include "libstack/budget.h"

/* CIEs lie at multiples of 4 or 8. */
static struct vmop_cached_cie *slot_of(struct vmop_cie_cache *cache, uint64_t offset)
{
	return &cache->slots[(offset >> 3) * UINT64_C(0x9e3779b97f4a7c15) >> 59];
}
_Static_assert(VMOP_CIE_CACHE_SLOTS == 1 << (64 - 59), "slot_of() keeps the upper five bits");

void vmop_cie_cache_init(struct vmop_cie_cache *cache, uint64_t extra_column)
{
	*cache = (struct vmop_cie_cache){.extra_column = extra_column};
}

const struct vmop_cached_cie *vmop_cie_cache_get(struct vmop_cie_cache *cache,
						 const struct vmop_cfi_section *section,
						 uint64_t offset, struct vmop_cfi_budget *budget)
{
	struct vmop_cached_cie *slot = slot_of(cache, offset);
	if (offset >= section->len_bytes)
		return NULL;
	if (slot->key != offset + 1) {
		slot->key = offset + 1;
		slot->is_good =
			vmop_cfi_read_cie(section, offset, &slot->cie) &&
			vmop_cfi_run_cie(section, &slot->cie, cache->extra_column, &slot->initial);
		/* The caller counts work after this too, and stops there when time is up. */
		vmop_cfi_budget_work(budget, slot->cie.record.len_bytes);
	}
	return slot->is_good ? slot : NULL;
}
