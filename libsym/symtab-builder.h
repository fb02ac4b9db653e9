// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Makes a symbol table out of symbols in any order and from several places:
 * sorts, drops what says nothing new, finds lengths.  Inside libsym only.
 */
#ifndef VMOP_LIBSYM_SYMTAB_BUILDER_H
#define VMOP_LIBSYM_SYMTAB_BUILDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libsym/budget.h"
#include "libsym/symtab.h"

/* The largest executables known have 2 million functions. */
#define VMOP_SYMTAB_MAX_SYMBOLS ((size_t)8 << 20)
#define VMOP_SYMTAB_MAX_NAMES_BYTES ((size_t)2 << 30)

struct vmop_symtab_builder {
	struct vmop_sym_budget *budget; /* pays for what is held; the caller's */
	struct vmop_pending_symbol *pending;
	size_t n, capacity;
	char *names;
	size_t names_len_bytes, names_capacity;
	size_t names_used_bytes; /* of names, by symbols; more than there are where they share */
};

/* Makes room at once for so many more; a wish, not a bound. */
struct vmop_error *vmop_symtab_builder_reserve(struct vmop_symtab_builder *builder, size_t n,
					       size_t names_len_bytes);

/*
 * Takes a string table, so that names in it need not be copied: builder has no symbols yet, and the
 * budget's memory was charged for len_bytes.  Names that are added may lie in it from then on,
 * until one is added that does not; the byte behind each is set to 0.
 */
void vmop_symtab_builder_adopt_names(struct vmop_symtab_builder *builder, char *names,
				     size_t len_bytes);

/*
 * The name is copied up to name_len_bytes, unless it lies in names that were adopted.  left_bytes
 * is how far anything at offset may reach: the end of its section, segment or PLT; it cuts
 * len_bytes and bounds a symbol without one. label: a place in code with a name, no function: it is
 * dropped inside a function. VMOP_ERROR_LIMIT past the maxima, or what the budget has.
 */
struct vmop_error *vmop_symtab_builder_add(struct vmop_symtab_builder *builder,
					   const struct vmop_symbol *symbol, size_t name_len_bytes,
					   uint64_t left_bytes, bool label);

/* Empties builder whatever happens. *ret may have no symbols; it is not charged to the budget. */
struct vmop_error *vmop_symtab_builder_finish(struct vmop_symtab_builder *builder, const char *path,
					      struct vmop_symtab **ret);
void vmop_symtab_builder_deinit(struct vmop_symtab_builder *builder);

/* By offset, then the alias to show first: see vmop_symtab_symbols. */
int vmop_symbol_compare(const struct vmop_symbol *a, const struct vmop_symbol *b);

/* Sorts n symbols in place; nothing to do where they are sorted already.  path is for messages. */
struct vmop_error *vmop_symbols_sort(struct vmop_symbol *symbols, size_t n,
				     struct vmop_sym_budget *budget, const char *path);

/*
 * A table of sorted symbols; it owns both blocks from then on, also on error
 * (names may be NULL: then the names lie in the first).
 */
struct vmop_error *vmop_symtab_create(struct vmop_symbol *symbols, size_t n, char *names,
				      struct vmop_symtab **ret);

#endif
