// SPDX-License-Identifier: GPL-2.0-or-later
/* Parse kallsyms and System.map text in memory. Callers outside libsym use symtab.h. */
#ifndef VMOP_LIBSYM_KALLSYMS_H
#define VMOP_LIBSYM_KALLSYMS_H

#include <stddef.h>

#include "libsym/budget.h"
#include "libsym/symtab.h"

/* Distribution kernels have 20 MB at most. */
#define VMOP_KALLSYMS_MAX_TEXT_BYTES ((size_t)256 << 20)

/* Distinct module names (bpf and similar count as modules). */
#define VMOP_KALLSYMS_MAX_MODULES 16384

/*
 * Do the same as vmop_kallsyms_read() for text, which has len_bytes and a NUL behind them. The text
 * is modified, and the symbols' names point into it. path is used in messages.
 */
struct vmop_error *
vmop_kallsyms_parse(char *text, size_t len_bytes, const char *path, struct vmop_sym_budget *budget,
		    struct vmop_error *(*each)(void *arg, const char *module,
					       const struct vmop_symbol *symbols, size_t n),
		    void *arg);

/*
 * Parse all symbols into one table, whatever their module. Takes ownership of text (a heap block),
 * also on error.
 */
struct vmop_error *vmop_kallsyms_parse_symtab(char *text, size_t len_bytes, const char *path,
					      struct vmop_sym_budget *budget,
					      struct vmop_symtab **ret);

#endif
