// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as a JIT compiler's map. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libsym/jit/perf-map.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	char *text = malloc(len_bytes + 1);
	if (!text)
		abort();
	memcpy(text, data, len_bytes);
	text[len_bytes] = '\0';
	struct vmop_symtab *symtab;
	struct vmop_error *err = vmop_perf_map_parse(text, len_bytes, &symtab, NULL);
	free(text);
	if (err) {
		vmop_error_destroy(err);
		return 0;
	}
	size_t n;
	const struct vmop_symbol *symbols = vmop_symtab_symbols(symtab, &n);
	for (size_t i = 0; i < n; i++) {
		const struct vmop_symbol *found = vmop_symtab_find(symtab, symbols[i].offset);
		if (symbols[i].len_bytes && found != &symbols[i])
			abort();
	}
	vmop_symtab_destroy(symtab);
	return 0;
}
