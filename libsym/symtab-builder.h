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

/* A string table in an image's file. A length of 0: none. */
struct vmop_names_place {
	uint64_t at;
	size_t len_bytes;
};

struct vmop_symtab_builder {
	struct vmop_sym_budget *budget; /* pays for the memory in use; the caller owns it */
	struct vmop_pending_symbol *pending;
	size_t n, capacity;
	char *names;
	size_t names_len_bytes, names_capacity;
	struct vmop_names_place place; /* of the adopted names, which begin the names */
	size_t names_used_bytes; /* names in use, per symbol; larger than the total if symbols share
				    names */
};

/* Reserve room for that many more symbols and name bytes. A hint, not a bound. */
struct vmop_error *vmop_symtab_builder_reserve(struct vmop_symtab_builder *builder, size_t n,
					       size_t names_len_bytes);

/*
 * Take ownership of a string table, so that the names in it need not be copied. builder must have
 * no symbols yet, and the budget's memory must have been charged for its capacity. Names added
 * later may point into the table, until a name is added that does not. The byte behind each name is
 * set to 0. place: where the file has the table, with a length of 0 or len_bytes.
 */
void vmop_symtab_builder_adopt_names(struct vmop_symtab_builder *builder, char *names,
				     size_t len_bytes, size_t capacity_bytes,
				     const struct vmop_names_place *place);

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

/*
 * Look-ups search spans, which are sorted by offset. Bisection finds the last span that begins at
 * or before an offset. If it ends too early, only a span that reaches further can contain the
 * offset. `outer` is the nearest earlier span that does, and so on outwards. This covers nested and
 * overlapping symbols, and aliases of different lengths.
 */
struct vmop_symtab_span {
	uint64_t offset, end;	/* end is exclusive; UINT64_MAX: unbounded */
	uint32_t symbol, outer; /* indexes of a symbol and a span; UINT32_MAX: no span */
};

/* Real nesting is two or three deep. A hostile table could make each look-up visit every span. */
#define VMOP_SYMTAB_MAX_OUTWARDS 64

/* Return the spans and their number; none for a backed table. The table owns them. */
const struct vmop_symtab_span *vmop_symtab_spans(const struct vmop_symtab *symtab, size_t *ret_n);

/*
 * Return the block of the names and where a file has its beginning: the names that begin in the
 * first ret_place->len_bytes bytes are there, each with its version and a NUL.
 */
const char *vmop_symtab_names(const struct vmop_symtab *symtab, struct vmop_names_place *ret_place);

/* Set the place of the names in a file. It is not known after vmop_symtab_create(). */
void vmop_symtab_set_names_place(struct vmop_symtab *symtab, const struct vmop_names_place *place);

/* A table that is elsewhere (cache/mapped-symtab.h). The functions are those of symtab.h. */
struct vmop_symtab_backing {
	struct vmop_symtab_run (*find_run)(void *arg, uint64_t offset);
	const struct vmop_symbol *(*symbols)(void *arg, size_t *ret_n);
	uint32_t (*index_of)(const void *arg, const struct vmop_symbol *symbol);
	void (*set_known)(void *arg, const struct vmop_symtab_known *known, size_t n);
	void (*destroy)(void *arg);
};

/* Make a table of one that is elsewhere. Takes ownership of backing_arg, also on error. */
struct vmop_error *vmop_symtab_create_backed(const struct vmop_symtab_backing *backing,
					     void *backing_arg, struct vmop_symtab **ret);

/* Return the table's backing_arg if it has that backing, or NULL. */
void *vmop_symtab_backed_by(const struct vmop_symtab *symtab,
			    const struct vmop_symtab_backing *backing);

#endif
