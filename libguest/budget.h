// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The bound on work for a guest: bytes read from its RAM, and steps of loops whose length the guest
 * decides. A call fills one budget at its start and passes it down. An exhausted budget ends the
 * call with VMOP_ERROR_LIMIT, or leaves data out where a header states so.
 */
#ifndef VMOP_LIBGUEST_BUDGET_H
#define VMOP_LIBGUEST_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct vmop_guest_budget {
	uint64_t bytes_left;
	uint64_t steps_left;
};

/* Use one step. Return false when no step is left. */
static inline bool vmop_guest_budget_step(struct vmop_guest_budget *budget)
{
	if (!budget->steps_left)
		return false;
	budget->steps_left--;
	return true;
}

/* Use len_bytes. Return false and set the budget to 0 when fewer are left. */
static inline bool vmop_guest_budget_bytes(struct vmop_guest_budget *budget, uint64_t len_bytes)
{
	if (budget->bytes_left < len_bytes) {
		budget->bytes_left = 0;
		return false;
	}
	budget->bytes_left -= len_bytes;
	return true;
}

#endif
