// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How much work may be done on a guest's behalf: bytes read from its RAM and
 * steps of loops whose length the guest decides.  One object is filled at the
 * start of a call and handed down; what runs dry ends the call with
 * VMOP_ERROR_LIMIT (or leaves things out, where a header says so).
 */
#ifndef VMOP_LIBGUEST_BUDGET_H
#define VMOP_LIBGUEST_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

struct vmop_guest_budget {
	uint64_t bytes_left;
	uint64_t steps_left;
};

/* Takes one step; false when none is left. */
static inline bool vmop_guest_budget_step(struct vmop_guest_budget *budget)
{
	if (!budget->steps_left)
		return false;
	budget->steps_left--;
	return true;
}

/* Takes len_bytes; false, and nothing is left, when there are not as many. */
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
