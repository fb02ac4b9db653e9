// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/call-path.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"

struct vmop_error *vmop_call_path_enter(struct vmop_call_path *path, size_t depth, uint32_t item,
					bool *ret_is_first)
{
	*ret_is_first = false;
	if (depth >= VMOP_CALL_PATH_MAX)
		return vmop_error_new(VMOP_ERROR_LIMIT, "a call stack of more than %d frames",
				      VMOP_CALL_PATH_MAX);
	while (path->n > depth) {
		uint32_t left = path->items[--path->n];
		if (left != VMOP_NO_ITEM)
			path->counts[left]--;
	}
	path->items[path->n++] = item;
	if (item == VMOP_NO_ITEM)
		return NULL;
	size_t before = path->capacity;
	if (!vmop_array_reserve(path->counts, path->capacity, (size_t)item + 1)) {
		path->items[path->n - 1] = VMOP_NO_ITEM;
		return &vmop_error_no_memory;
	}
	memset(path->counts + before, 0, (path->capacity - before) * sizeof(*path->counts));
	*ret_is_first = !path->counts[item]++;
	return NULL;
}

void vmop_call_path_deinit(struct vmop_call_path *path)
{
	free(path->counts);
	path->counts = NULL;
	path->capacity = path->n = 0;
}
