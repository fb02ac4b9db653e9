// SPDX-License-Identifier: GPL-2.0-or-later
#include "libstack/rule-set.h"

#include <string.h>

#include "libstack/budget.h"
#include "libutil/hash-seed.h"

enum { FIRST_SLOTS = 1024 };

_Static_assert(sizeof(struct vmop_cfi_rule) == 24, "hash() and is_same() read three words");

static inline void words_of(const struct vmop_cfi_rule *rule, uint64_t *ret)
{
	memcpy(ret, rule, sizeof(*rule));
}

/* Multiply by seeded words, so that an image can't be made whose rules collide. */
static uint64_t hash(const struct vmop_cfi_rule_set *set, const uint64_t *words)
{
	uint64_t seed = set->seed;
	__uint128_t a = (__uint128_t)(words[0] ^ seed) * (words[1] ^ UINT64_C(0x9e3779b97f4a7c15));
	uint64_t b = ((uint64_t)a ^ (uint64_t)(a >> 64)) + words[2];
	__uint128_t c = (__uint128_t)(b ^ (seed << 1)) * seed;
	return (uint64_t)c ^ (uint64_t)(c >> 64);
}

static uint32_t *find_slot(const struct vmop_cfi_rule_set *set, const uint64_t *words)
{
	for (uint64_t at = hash(set, words);; at++) {
		uint32_t *slot = &set->slots[at & (set->n_slots - 1)];
		uint64_t other[3];
		if (!*slot)
			return slot;
		words_of(&set->rules[*slot - 1], other);
		if (other[0] == words[0] && other[1] == words[1] && other[2] == words[2])
			return slot;
	}
}

/* Make a larger hash table of the same rules. */
static bool grow(struct vmop_cfi_rule_set *set, struct vmop_cfi_budget *budget)
{
	size_t n_slots = set->n_slots ? 2 * set->n_slots : FIRST_SLOTS;
	uint32_t *slots = vmop_cfi_budget_resize(budget, NULL, 0, n_slots, sizeof(*slots));
	if (!slots)
		return false;
	memset(slots, 0, n_slots * sizeof(*slots));
	vmop_cfi_budget_free(budget, set->slots, set->n_slots, sizeof(*slots));
	set->slots = slots;
	set->n_slots = n_slots;
	for (size_t i = 0; i < set->n; i++) {
		uint64_t words[3];
		words_of(&set->rules[i], words);
		*find_slot(set, words) = (uint32_t)i + 1;
	}
	return true;
}

static bool add(struct vmop_cfi_rule_set *set, const struct vmop_cfi_rule *rule,
		struct vmop_cfi_budget *budget, uint32_t *ret)
{
	uint64_t words[3];
	if (!vmop_cfi_budget_reserve(budget, set->rules, set->capacity, set->n) ||
	    (2 * (set->n + 1) > set->n_slots && !grow(set, budget)))
		return false;
	words_of(rule, words);
	set->rules[set->n] = *rule;
	*find_slot(set, words) = (uint32_t)set->n + 1;
	*ret = (uint32_t)set->n++;
	return true;
}

bool vmop_cfi_rule_set_index(struct vmop_cfi_rule_set *set, const struct vmop_cfi_rule *rule,
			     struct vmop_cfi_budget *budget, uint32_t *ret)
{
	uint64_t words[3];
	if (set->n == 0) {
		struct vmop_cfi_rule none;
		memset(&none, 0, sizeof(none));
		set->seed = vmop_hash_seed();
		if (!add(set, &none, budget, ret))
			return false;
	}
	words_of(rule, words);
	uint32_t slot = *find_slot(set, words);
	*ret = slot - 1;
	return slot || add(set, rule, budget, ret);
}

bool vmop_cfi_rule_set_index_of_new_row(struct vmop_cfi_rule_set *set,
					const struct vmop_cfi_row *row,
					struct vmop_cfi_row_kind kind, bool is_signal,
					struct vmop_cfi_budget *budget, uint32_t *ret)
{
	struct vmop_cfi_rule rule;
	uint64_t key = is_signal ? 0 : vmop_cfi_row_key(row);
	vmop_cfi_rule_of_row(row, kind, is_signal, &rule);
	if (!vmop_cfi_rule_set_index(set, &rule, budget, ret))
		return false;
	if (key)
		*vmop_cfi_rule_set_known(set, key) =
			(struct vmop_cfi_known_row){.key = key, .index = *ret};
	return true;
}

void vmop_cfi_rule_set_finish(struct vmop_cfi_rule_set *set, struct vmop_cfi_budget *budget)
{
	vmop_cfi_budget_free(budget, set->slots, set->n_slots, sizeof(*set->slots));
	set->slots = NULL;
	set->n_slots = 0;
	struct vmop_cfi_rule *shrunk =
		vmop_cfi_budget_resize(budget, set->rules, set->capacity, set->n, sizeof(*shrunk));
	if (shrunk) {
		set->rules = shrunk;
		set->capacity = set->n;
	}
}

void vmop_cfi_rule_set_deinit(struct vmop_cfi_rule_set *set, struct vmop_cfi_budget *budget)
{
	vmop_cfi_budget_free(budget, set->slots, set->n_slots, sizeof(*set->slots));
	vmop_cfi_budget_free(budget, set->rules, set->capacity, sizeof(*set->rules));
	memset(set, 0, sizeof(*set));
}
