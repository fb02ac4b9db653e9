// SPDX-License-Identifier: GPL-2.0-or-later
/* Any bytes as kallsyms or System.map text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "libsym/kallsyms.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes);

static struct vmop_error *check(void *arg, const char *module, const struct vmop_symbol *symbols,
				size_t n)
{
	size_t *total = arg;
	for (size_t i = 0; i < n; i++) {
		if (!symbols[i].name[0] || (i && symbols[i - 1].offset > symbols[i].offset))
			abort();
		*total += strlen(symbols[i].name) + strlen(module);
	}
	return NULL;
}

static char *copy_text(const uint8_t *data, size_t len_bytes)
{
	char *text = malloc(len_bytes + 1);
	if (!text)
		abort();
	memcpy(text, data, len_bytes);
	text[len_bytes] = '\0';
	return text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len_bytes)
{
	size_t total = 0;
	char *text = copy_text(data, len_bytes);
	struct vmop_sym_budget budget;
	vmop_sym_budget_init(&budget);
	vmop_error_destroy(vmop_kallsyms_parse(text, len_bytes, "fuzz", &budget, check, &total));
	free(text);

	struct vmop_symtab *symtab;
	struct vmop_error *err = vmop_kallsyms_parse_symtab(copy_text(data, len_bytes), len_bytes,
							    "fuzz", &budget, &symtab);
	if (budget.memory_left_bytes != VMOP_SYM_BUDGET_MEMORY_BYTES)
		abort();
	if (err)
		vmop_error_destroy(err);
	else
		vmop_symtab_destroy(symtab);
	return 0;
}
