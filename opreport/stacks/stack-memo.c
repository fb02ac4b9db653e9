// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/stack-memo.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/hash-seed.h"

enum { FIRST_CAPACITY = 4096 };

/* Return the entry of the stack, or the empty one where it belongs. */
static struct vmop_stack_memo_entry *entry_of(const struct vmop_stack_memo *memo,
					      uint32_t group_node, uint32_t stack)
{
	uint64_t hash = ((uint64_t)group_node << 32 | stack) * memo->seed;
	hash = (hash ^ hash >> 33) * 0xff51afd7ed558ccdull; /* MurmurHash3's finaliser */
	size_t mask = memo->capacity - 1, at = (size_t)(hash ^ hash >> 33) & mask;
	while (memo->entries[at].stack &&
	       (memo->entries[at].stack != stack || memo->entries[at].group_node != group_node))
		at = (at + 1) & mask;
	return &memo->entries[at];
}

bool vmop_stack_memo_find(const struct vmop_stack_memo *memo, uint32_t group_node, uint32_t stack,
			  struct vmop_stack_place *ret)
{
	if (!memo->n)
		return false;
	const struct vmop_stack_memo_entry *entry = entry_of(memo, group_node, stack);
	*ret = entry->place;
	return entry->stack != 0;
}

/* Double the capacity, or forget all places if that would be too much. */
static struct vmop_error *make_room(struct vmop_stack_memo *memo)
{
	struct vmop_stack_memo grown = {
		.capacity = memo->capacity ? memo->capacity * 2 : FIRST_CAPACITY,
		.n = memo->n,
		.seed = vmop_hash_seed(),
	};
	if (grown.capacity * sizeof(*grown.entries) > VMOP_STACK_MEMO_MAX_BYTES) {
		vmop_stack_memo_clear(memo);
		return NULL;
	}
	grown.entries = calloc(grown.capacity, sizeof(*grown.entries));
	if (!grown.entries)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < memo->capacity; i++) {
		const struct vmop_stack_memo_entry *entry = &memo->entries[i];
		if (entry->stack)
			*entry_of(&grown, entry->group_node, entry->stack) = *entry;
	}
	free(memo->entries);
	*memo = grown;
	return NULL;
}

struct vmop_error *vmop_stack_memo_put(struct vmop_stack_memo *memo, uint32_t group_node,
				       uint32_t stack, struct vmop_stack_place place)
{
	if (memo->n * 2 >= memo->capacity) {
		struct vmop_error *err = make_room(memo);
		if (err)
			return err;
	}
	struct vmop_stack_memo_entry *entry = entry_of(memo, group_node, stack);
	memo->n += !entry->stack;
	*entry = (struct vmop_stack_memo_entry){group_node, stack, place};
	return NULL;
}

void vmop_stack_memo_clear(struct vmop_stack_memo *memo)
{
	if (memo->n)
		memset(memo->entries, 0, memo->capacity * sizeof(*memo->entries));
	memo->n = 0;
}

void vmop_stack_memo_deinit(struct vmop_stack_memo *memo)
{
	free(memo->entries);
	*memo = (struct vmop_stack_memo){0};
}
