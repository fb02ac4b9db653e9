// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/code-memo.h"

#include <stdlib.h>

struct vmop_error *vmop_code_memo_put(struct vmop_code_memo *memo, uint32_t image, uint64_t offset,
				      uint32_t frame)
{
	if (!memo->entries)
		memo->entries = calloc(VMOP_CODE_MEMO_ENTRIES, sizeof(*memo->entries));
	if (!memo->entries)
		return &vmop_error_no_memory;
	memo->entries[vmop_code_memo_slot(image, offset)] =
		(struct vmop_code_memo_entry){offset, image, frame + 1};
	return NULL;
}

void vmop_code_memo_deinit(struct vmop_code_memo *memo)
{
	free(memo->entries);
	memo->entries = NULL;
}
