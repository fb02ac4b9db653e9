// SPDX-License-Identifier: GPL-2.0-or-later
/* The distinct rules of an image, some hundred for most, each with an index. */
#ifndef VMOP_LIBSTACK_RULE_SET_H
#define VMOP_LIBSTACK_RULE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libstack/table.h"

enum { VMOP_CFI_ROW_SLOTS = 512 };

struct vmop_cfi_budget;
struct vmop_cfi_row;

/* A row of which the index of its rule was found before. */
struct vmop_cfi_known_row {
	uint64_t key; /* the row in short form, or 0 */
	uint32_t index;
};

/* Zero-initialise. */
struct vmop_cfi_rule_set {
	struct vmop_cfi_rule *rules; /* rules[0] is that of VMOP_CFI_NONE, once there are any */
	size_t n, capacity;
	uint32_t *slots; /* of the hash table: index + 1, or 0 */
	size_t n_slots;	 /* a power of 2 */
	uint64_t seed;
	/* The same few rows come again and again: this is faster than making their rules. */
	struct vmop_cfi_known_row known[VMOP_CFI_ROW_SLOTS];
};

/*
 * Set *ret to the index of a rule, whose padding is zero, after adding it if it is new. False: the
 * budget refused memory.
 */
bool vmop_cfi_rule_set_index(struct vmop_cfi_rule_set *set, const struct vmop_cfi_rule *rule,
			     struct vmop_cfi_budget *budget, uint32_t *ret);

/*
 * Set *ret to the index of the rule of a row. machine and is_signal are those of
 * vmop_cfi_rule_of_row(), and the set has rows of one machine only. False: the budget refused
 * memory.
 */
bool vmop_cfi_rule_set_index_of_row(struct vmop_cfi_rule_set *set, const struct vmop_cfi_row *row,
				    uint16_t machine, bool is_signal,
				    struct vmop_cfi_budget *budget, uint32_t *ret);

/* Free the hash table, and shrink the rules, which stay the caller's to free. */
void vmop_cfi_rule_set_finish(struct vmop_cfi_rule_set *set, struct vmop_cfi_budget *budget);

void vmop_cfi_rule_set_deinit(struct vmop_cfi_rule_set *set, struct vmop_cfi_budget *budget);

#endif
