// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The symbols of sessions' images, looked up when they are first wanted: from the session for
 * what can't be read later, from files else.
 */
#ifndef VMOP_OPREPORT_QUERY_SYMBOLS_H
#define VMOP_OPREPORT_QUERY_SYMBOLS_H

#include "libdb/db.h"
#include "libsym/resolver.h"
#include "opreport/query/catalog.h"

struct vmop_symbols;

/* catalog must outlive it, and sessions, which are the catalog's, the last vmop_symbols_of. */
struct vmop_error *vmop_symbols_create(const struct vmop_resolver_options *options,
				       struct vmop_catalog *catalog,
				       const struct vmop_session_input *sessions,
				       struct vmop_symbols **ret);
void vmop_symbols_destroy(struct vmop_symbols *symbols);

/*
 * Of the image at index: NULL where there are none; then *ret_why says why.  Symbols of all images
 * together have a bound of memory, and looking for them one of CPU time; images beyond have none.
 * A kernel with its modules takes some 40 MB and 0.1 s.
 */
#define VMOP_SYMBOLS_MAX_BYTES ((size_t)768 << 20)
#define VMOP_SYMBOLS_MAX_CPU_NS UINT64_C(4000000000)
struct vmop_error *vmop_symbols_of(struct vmop_symbols *symbols, size_t image,
				   const struct vmop_symtab **ret, const char **ret_why);

/*
 * Of images that stand for one another (row is the index of the one that does) but have symbols of
 * their own: *symbol becomes the first seen of those with its name and place.
 */
struct vmop_error *vmop_symbols_unify(struct vmop_symbols *symbols, size_t row,
				      const struct vmop_symbol **symbol);

/* How many images the bounds left without symbols. */
uint64_t vmop_symbols_n_left_out(const struct vmop_symbols *symbols);

/* Whether a symbol of the image is a function that CPUs are idle in: see idle.h. */
bool vmop_symbols_is_idle(struct vmop_symbols *symbols, size_t index,
			  const struct vmop_symtab *symtab, const struct vmop_symbol *symbol);

/* The name to show, demangled as asked for, and never one that has a meaning of its own here. */
const char *vmop_symbols_name(struct vmop_symbols *symbols, const struct vmop_symbol *symbol);

#endif
