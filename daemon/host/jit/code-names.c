// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/host/jit/code-names.h"

#include <string.h>

#include "libutil/cleanup.h"

/* The size of one image's names: enough for all code of a large program. */
#define IMAGE_MAX_BYTES ((size_t)32 << 20)

/* Copy the symbols in [start, end) to one heap block. NULL: no symbols or no memory. */
static struct vmop_symbol *copy_range(const struct vmop_symtab *symtab, uint64_t start,
				      uint64_t end, size_t *ret_n, size_t *ret_bytes)
{
	size_t n, first = 0, bytes = 0;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(symtab, &n);
	while (first < n && symbols[first].offset < start)
		first++;
	size_t behind = first;
	for (; behind < n && symbols[behind].offset < end && bytes < IMAGE_MAX_BYTES; behind++)
		bytes += sizeof(*symbols) + strlen(symbols[behind].name) + 1;
	*ret_n = behind - first;
	*ret_bytes = bytes;
	return *ret_n ? vmop_symbols_copy(symbols + first, *ret_n, 0) : NULL;
}

enum vmop_code_names_outcome vmop_code_names_give(struct vmop_code_names *names,
						  struct vmop_image *image,
						  const struct vmop_symtab *symtab, uint64_t start,
						  uint64_t end)
{
	size_t n, bytes;
	_cleanup_free_ struct vmop_symbol *symbols = copy_range(symtab, start, end, &n, &bytes);
	if (!symbols)
		return VMOP_CODE_NAMES_NONE;
	if (bytes > VMOP_CODE_NAMES_MAX_BYTES - names->stored_bytes)
		return VMOP_CODE_NAMES_NO_ROOM;
	names->stored_bytes += bytes;
	vmop_image_take_symbols(image, &symbols, n);
	return VMOP_CODE_NAMES_GIVEN;
}
