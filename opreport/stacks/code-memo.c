// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/code-memo.h"

#include <stdlib.h>

enum { FIRST_ENTRIES = 4096 };

/* Double the entries.  A small table stays in the CPU's caches while it is enough. */
static struct vmop_error *grow(struct vmop_code_memo *memo)
{
	struct vmop_code_memo grown = {.n_entries = memo->n_entries ? memo->n_entries * 2
								    : FIRST_ENTRIES};
	grown.entries = calloc(grown.n_entries, sizeof(*grown.entries));
	if (!grown.entries)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < memo->n_entries; i++) {
		const struct vmop_code_memo_entry *entry = &memo->entries[i];
		if (entry->frame)
			*vmop_code_memo_entry(&grown, entry->image, entry->offset) = *entry;
	}
	free(memo->entries);
	*memo = grown;
	return NULL;
}

struct vmop_error *vmop_code_memo_put(struct vmop_code_memo *memo, uint32_t image, uint64_t offset,
				      uint32_t frame)
{
	/* As many were put as there is room for: a third of them was replaced. */
	if (memo->n_put == memo->n_entries && memo->n_entries < VMOP_CODE_MEMO_MAX_ENTRIES) {
		struct vmop_error *err = grow(memo);
		if (err)
			return err;
	}
	memo->n_put += memo->n_put < memo->n_entries;
	*vmop_code_memo_entry(memo, image, offset) =
		(struct vmop_code_memo_entry){offset, image, frame + 1};
	return NULL;
}

void vmop_code_memo_deinit(struct vmop_code_memo *memo)
{
	free(memo->entries);
	*memo = (struct vmop_code_memo){0};
}
