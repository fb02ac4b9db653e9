// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Build a symbol table from symbols in any order and from several sources: sort them, drop
 * duplicates, find lengths. Inside libsym only.
 */
#ifndef VMOP_LIBSYM_SYMTAB_BUILDER_H
#define VMOP_LIBSYM_SYMTAB_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libsym/budget.h"
#include "libsym/symtab.h"

/* The largest known executables have 2 million functions. */
#define VMOP_SYMTAB_MAX_SYMBOLS ((size_t)8 << 20)
#define VMOP_SYMTAB_MAX_NAMES_BYTES ((size_t)2 << 30)

struct vmop_symtab_builder {
	struct vmop_sym_budget *budget; /* pays for the memory in use; the caller owns it */
	struct vmop_pending_symbol *pending;
	size_t n, capacity;
	char *names;
	size_t names_len_bytes, names_capacity;
	size_t names_used_bytes; /* names in use, per symbol; larger than the total if symbols share
				    names */
};

/* Reserve room for that many more symbols and name bytes. A hint, not a bound. */
struct vmop_error *vmop_symtab_builder_reserve(struct vmop_symtab_builder *builder, size_t n,
					       size_t names_len_bytes);

/*
 * Take ownership of a string table, so that the names in it need not be copied. builder must have
 * no symbols yet, and the budget's memory must have been charged for len_bytes. Names added later
 * may point into the table, until a name is added that does not. The byte behind each name is set
 * to 0.
 */
void vmop_symtab_builder_adopt_names(struct vmop_symtab_builder *builder, char *names,
				     size_t len_bytes);

/*
 * Add a symbol. The name is copied up to name_len_bytes, unless it points into an adopted table.
 * left_bytes is the distance from offset to the end of its section, segment or PLT; it limits
 * len_bytes, or the length of a symbol without one. label marks a named place in code that is no
 * function; inside a function it is dropped. VMOP_ERROR_LIMIT beyond the maxima, or if the budget
 * runs out.
 */
struct vmop_error *vmop_symtab_builder_add(struct vmop_symtab_builder *builder,
					   const struct vmop_symbol *symbol, size_t name_len_bytes,
					   uint64_t left_bytes, bool label);

/*
 * Make the table and empty builder, also on error. *ret may have no symbols; it is not charged to
 * the budget.
 */
struct vmop_error *vmop_symtab_builder_finish(struct vmop_symtab_builder *builder, const char *path,
					      struct vmop_symtab **ret);
void vmop_symtab_builder_deinit(struct vmop_symtab_builder *builder);

/* Compare by offset, then by the order of aliases (vmop_symtab_symbols). */
int vmop_symbol_compare(const struct vmop_symbol *a, const struct vmop_symbol *b);

/* Sort n symbols in place; fast if they are sorted already. path is used in messages. */
struct vmop_error *vmop_symbols_sort(struct vmop_symbol *symbols, size_t n,
				     struct vmop_sym_budget *budget, const char *path);

/*
 * Make a table of sorted symbols. Takes ownership of both blocks, also on error. names may be NULL:
 * then the names are in the first block.
 */
struct vmop_error *vmop_symtab_create(struct vmop_symbol *symbols, size_t n, char *names,
				      struct vmop_symtab **ret);

#endif
