// SPDX-License-Identifier: GPL-2.0-or-later
/* kallsyms and System.map text that is in memory already; symtab.h has what others use. */
#ifndef VMOP_LIBSYM_KALLSYMS_H
#define VMOP_LIBSYM_KALLSYMS_H

#include <stddef.h>

#include "libsym/budget.h"
#include "libsym/symtab.h"

/* The largest distribution kernels have 20 MB. */
#define VMOP_KALLSYMS_MAX_TEXT_BYTES ((size_t)256 << 20)

/* Each of them is a module's name (bpf and the like count as modules). */
#define VMOP_KALLSYMS_MAX_MODULES 16384

/*
 * As vmop_kallsyms_read.  text has len_bytes and a NUL behind them; it is written to
 * and the symbols' names lie in it.  path is for messages.
 */
struct vmop_error *
vmop_kallsyms_parse(char *text, size_t len_bytes, const char *path, struct vmop_sym_budget *budget,
		    struct vmop_error *(*each)(void *arg, const char *module,
					       const struct vmop_symbol *symbols, size_t n),
		    void *arg);

/* All of it as one table, whatever the module. Takes text (a heap block), also on error. */
struct vmop_error *vmop_kallsyms_parse_symtab(char *text, size_t len_bytes, const char *path,
					      struct vmop_sym_budget *budget,
					      struct vmop_symtab **ret);

#endif
