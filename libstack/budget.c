// SPDX-License-Identifier: GPL-2.0-or-later
#include "libstack/budget.h"

#include <stdlib.h>

#include "libstack/table.h"
#include "libutil/clock.h"
#include "libutil/error.h"

/* Reading the clock is a system call; some tens of microseconds lie between two. */
enum { WORK_PER_CHECK = 16384 };

void vmop_cfi_budget_init(struct vmop_cfi_budget *budget, const struct vmop_cfi_limits *limits)
{
	uint64_t now_ns = vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	*budget = (struct vmop_cfi_budget){
		.left_bytes = limits->max_bytes,
		.work_left = WORK_PER_CHECK,
	};
	if (__builtin_add_overflow(now_ns, limits->max_cpu_ns, &budget->deadline_ns))
		budget->deadline_ns = UINT64_MAX;
}

void *vmop_cfi_budget_resize(struct vmop_cfi_budget *budget, void *items, size_t n_before,
			     size_t n_items, size_t item_bytes)
{
	size_t wanted_bytes, before_bytes = n_before * item_bytes;
	if (__builtin_mul_overflow(n_items, item_bytes, &wanted_bytes) ||
	    (wanted_bytes > before_bytes && wanted_bytes - before_bytes > budget->left_bytes)) {
		budget->is_over_bytes = true;
		return NULL;
	}
	/* realloc(3) with a size of 0 may return NULL. */
	void *resized = realloc(items, wanted_bytes ? wanted_bytes : 1);
	if (resized)
		budget->left_bytes = budget->left_bytes + before_bytes - wanted_bytes;
	else
		budget->is_out_of_memory = true;
	return resized;
}

void vmop_cfi_budget_free(struct vmop_cfi_budget *budget, void *items, size_t n_items,
			  size_t item_bytes)
{
	if (items)
		budget->left_bytes += n_items * item_bytes;
	free(items);
}

bool vmop_cfi_budget_check_time(struct vmop_cfi_budget *budget)
{
	budget->work_left = WORK_PER_CHECK;
	if (vmop_clock_ns(CLOCK_THREAD_CPUTIME_ID) > budget->deadline_ns)
		budget->is_over_time = true;
	return !budget->is_over_time;
}

struct vmop_error *vmop_cfi_budget_error(const struct vmop_cfi_budget *budget)
{
	if (budget->is_out_of_memory)
		return &vmop_error_no_memory;
	return vmop_error_new(VMOP_ERROR_LIMIT, "its call frame information needs too much %s",
			      budget->is_over_time ? "time" : "memory");
}
