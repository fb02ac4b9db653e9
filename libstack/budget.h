// SPDX-License-Identifier: GPL-2.0-or-later
/* The memory and CPU time that a build may still use. One thread per budget. */
#ifndef VMOP_LIBSTACK_BUDGET_H
#define VMOP_LIBSTACK_BUDGET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vmop_error;
struct vmop_cfi_limits;

struct vmop_cfi_budget {
	size_t left_bytes;
	uint64_t deadline_ns; /* of CLOCK_THREAD_CPUTIME_ID */
	uint64_t work_left;   /* until the clock is read next */
	bool is_out_of_memory, is_over_bytes, is_over_time;
};

void vmop_cfi_budget_init(struct vmop_cfi_budget *budget, const struct vmop_cfi_limits *limits);

/*
 * Like reallocarray(3) for an array that had n_before items, counting its bytes. Shrinks too. NULL:
 * refused; items is still valid, and the caller returns vmop_cfi_budget_error().
 */
void *vmop_cfi_budget_resize(struct vmop_cfi_budget *budget, void *items, size_t n_before,
			     size_t n_items, size_t item_bytes);

/* Free an array of n_items. NULL is allowed. */
void vmop_cfi_budget_free(struct vmop_cfi_budget *budget, void *items, size_t n_items,
			  size_t item_bytes);

/*
 * Make room for one more item in a typed array that has n items. Evaluates to false if that is
 * refused.
 */
#define vmop_cfi_budget_reserve(budget, items, capacity, n)                                        \
	((n) < (capacity) || ({                                                                    \
		 size_t wanted_ = (capacity) ? 2 * (capacity) : 64;                                \
		 void *grown_ = vmop_cfi_budget_resize((budget), (items), (capacity), wanted_,     \
						       sizeof(*(items)));                          \
		 if (grown_) {                                                                     \
			 (items) = grown_;                                                         \
			 (capacity) = wanted_;                                                     \
		 }                                                                                 \
		 grown_ != NULL;                                                                   \
	 }))

/* Read the clock. False: there is no time left. */
bool vmop_cfi_budget_check_time(struct vmop_cfi_budget *budget);

/*
 * Count work, a unit of which takes some nanoseconds: about a byte of CFI. False: there is no time
 * left.
 */
static inline bool vmop_cfi_budget_work(struct vmop_cfi_budget *budget, uint64_t work)
{
	if (work < budget->work_left) {
		budget->work_left -= work;
		return true;
	}
	return vmop_cfi_budget_check_time(budget);
}

/* Return the error for a refusal: memory or time. The caller owns it. */
struct vmop_error *vmop_cfi_budget_error(const struct vmop_cfi_budget *budget);

#endif
