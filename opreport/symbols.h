// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The symbols of sessions' images, looked up when they are first wanted: from the session for
 * what can't be read later, from files else.
 */
#ifndef VMOP_OPREPORT_SYMBOLS_H
#define VMOP_OPREPORT_SYMBOLS_H

#include "libdb/db.h"
#include "libsym/resolver.h"
#include "opreport/catalog.h"

struct vmop_symbols;

/* catalog must outlive it, and sessions, which are the catalog's, the last vmop_symbols_of. */
struct vmop_error *vmop_symbols_create(const struct vmop_resolver_options *options,
				       struct vmop_catalog *catalog,
				       const struct vmop_session_input *sessions,
				       struct vmop_symbols **ret);
void vmop_symbols_destroy(struct vmop_symbols *symbols);

/* Of the image at index: NULL where there are none; then *ret_why says why. */
struct vmop_error *vmop_symbols_of(struct vmop_symbols *symbols, size_t image,
				   const struct vmop_symtab **ret, const char **ret_why);

/*
 * Of images that stand for one another (row is the index of the one that does) but have symbols of
 * their own: *symbol becomes the first seen of those with its name and place.
 */
struct vmop_error *vmop_symbols_unify(struct vmop_symbols *symbols, size_t row,
				      const struct vmop_symbol **symbol);

/* The name to show, demangled as asked for. */
const char *vmop_symbols_name(struct vmop_symbols *symbols, const struct vmop_symbol *symbol);

#endif
