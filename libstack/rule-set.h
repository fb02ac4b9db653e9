// SPDX-License-Identifier: GPL-2.0-or-later
/* The distinct rules of an image, some hundred for most, each with an index. */
#ifndef VMOP_LIBSTACK_RULE_SET_H
#define VMOP_LIBSTACK_RULE_SET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libstack/cfi-program.h"
#include "libstack/cfi-rule.h"
#include "libstack/table.h"

enum { VMOP_CFI_ROW_SLOTS = 512 };

struct vmop_cfi_budget;

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
 * Return 64 bits that stand for a row with small offsets, or 0 for another row. The address of an
 * expression is no small offset.
 */
static inline uint64_t vmop_cfi_row_key(const struct vmop_cfi_row *row)
{
	enum { CFA_BITS = 15, OFFSET_BITS = 14 };
	_Static_assert(VMOP_CFI_PACKED_BITS + CFA_BITS + 2 * OFFSET_BITS <= 64, "parts of a key");
	const uint64_t bias = 1 << (OFFSET_BITS - 1);
	uint64_t cfa = (uint64_t)row->operands[VMOP_CFI_CFA].offset;
	uint64_t fp = (uint64_t)row->operands[VMOP_CFI_FP].offset + bias;
	uint64_t ra = (uint64_t)row->operands[VMOP_CFI_RA].offset + bias;
	uint64_t extra = (uint64_t)row->operands[VMOP_CFI_EXTRA].offset;
	if (cfa >> CFA_BITS | (fp | ra) >> OFFSET_BITS | extra)
		return 0;
	return row->packed | cfa << VMOP_CFI_PACKED_BITS | fp << (VMOP_CFI_PACKED_BITS + CFA_BITS) |
	       ra << (VMOP_CFI_PACKED_BITS + CFA_BITS + OFFSET_BITS);
}

/* Return where the set keeps a row of that key. */
static inline struct vmop_cfi_known_row *vmop_cfi_rule_set_known(struct vmop_cfi_rule_set *set,
								 uint64_t key)
{
	_Static_assert(VMOP_CFI_ROW_SLOTS == 1 << (64 - 55), "the upper nine bits of a product");
	return &set->known[key * UINT64_C(0x9e3779b97f4a7c15) >> 55];
}

/* The same as vmop_cfi_rule_set_index_of_row(), for a row that may not be known. */
bool vmop_cfi_rule_set_index_of_new_row(struct vmop_cfi_rule_set *set,
					const struct vmop_cfi_row *row,
					struct vmop_cfi_row_kind kind, bool is_signal,
					struct vmop_cfi_budget *budget, uint32_t *ret);

/*
 * Set *ret to the index of the rule of a row. kind and is_signal are those of
 * vmop_cfi_rule_of_row(), and the set has rows of one kind only. False: the budget refused
 * memory.
 */
static inline bool vmop_cfi_rule_set_index_of_row(struct vmop_cfi_rule_set *set,
						  const struct vmop_cfi_row *row,
						  struct vmop_cfi_row_kind kind, bool is_signal,
						  struct vmop_cfi_budget *budget, uint32_t *ret)
{
	uint64_t key = vmop_cfi_row_key(row);
	const struct vmop_cfi_known_row *known = vmop_cfi_rule_set_known(set, key);
	if (key && known->key == key && !is_signal) {
		*ret = known->index;
		return true;
	}
	return vmop_cfi_rule_set_index_of_new_row(set, row, kind, is_signal, budget, ret);
}

/* Free the hash table, and shrink the rules, which stay the caller's to free. */
void vmop_cfi_rule_set_finish(struct vmop_cfi_rule_set *set, struct vmop_cfi_budget *budget);

void vmop_cfi_rule_set_deinit(struct vmop_cfi_rule_set *set, struct vmop_cfi_budget *budget);

#endif
