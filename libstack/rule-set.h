// SPDX-License-Identifier: GPL-2.0-or-later
/* The distinct rules of an image, some hundred for most, each with an index. */
#ifndef VMOP_LIBSTACK_RULE_SET_H
#define VMOP_LIBSTACK_RULE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libstack/table.h"

struct vmop_cfi_budget;

/* Zero-initialise. */
struct vmop_cfi_rule_set {
	struct vmop_cfi_rule *rules; /* rules[0] is that of VMOP_CFI_NONE, once there are any */
	size_t n, capacity;
	uint32_t *slots; /* of the hash table: index + 1, or 0 */
	size_t n_slots;	 /* a power of 2 */
	uint64_t seed;
};

/*
 * Set *ret to the index of a rule, whose padding is zero, after adding it if it is new. False: the
 * budget refused memory.
 */
bool vmop_cfi_rule_set_index(struct vmop_cfi_rule_set *set, const struct vmop_cfi_rule *rule,
			     struct vmop_cfi_budget *budget, uint32_t *ret);

/* Free the hash table, and shrink the rules, which stay the caller's to free. */
void vmop_cfi_rule_set_finish(struct vmop_cfi_rule_set *set, struct vmop_cfi_budget *budget);

void vmop_cfi_rule_set_deinit(struct vmop_cfi_rule_set *set, struct vmop_cfi_budget *budget);

#endif
