// SPDX-License-Identifier: GPL-2.0-or-later
#include "config.h"

#include "libvmop/page.h"

uint64_t vmop_page_since_ns(const struct perf_event_mmap_page *page, uint64_t ticks)
{
#ifdef HAVE_STRUCT_PERF_EVENT_MMAP_PAGE_TIME_MASK
	if (page->cap_user_time_short)
		ticks = page->time_cycles + ((ticks - page->time_cycles) & page->time_mask);
#endif
	uint64_t quotient = ticks >> page->time_shift;
	uint64_t remainder = ticks & ((UINT64_C(1) << page->time_shift) - 1);
	return page->time_offset + quotient * page->time_mult +
	       ((remainder * page->time_mult) >> page->time_shift);
}

enum vmop_page_result vmop_page_read(const struct perf_event_mmap_page *page,
				     struct vmop_page_read *ret)
{
	for (unsigned i = 0; i < VMOP_PAGE_TRIES; i++) {
		uint32_t lock, index;
		vmop_page_begin(page, &lock, &index);
		if (!vmop_user_read_has(index) || !page->cap_user_time)
			return VMOP_PAGE_NOT_NOW;
		uint64_t since_ns = vmop_page_since_ns(page, vmop_user_ticks());
		struct vmop_page_read read = {.enabled_ns = page->time_enabled + since_ns,
					      .running_ns = page->time_running + since_ns};
		struct vmop_user_read bits = vmop_user_read(index);
		read.value = (uint64_t)page->offset + vmop_page_extend(bits.value, page->pmc_width);
		vmop_page_barrier();
		if (!bits.is_read)
			return VMOP_PAGE_REFUSED;
		if (vmop_page_load(page->lock) == lock) {
			*ret = read;
			return VMOP_PAGE_READ;
		}
	}
	return VMOP_PAGE_CHANGED;
}
