// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The symbols of the sessions' images, loaded on first use.  Symbols that cannot be read later
 * (kernels, modules, guests, generated code) come from the session, others from files.
 */
#ifndef VMOP_OPREPORT_QUERY_SYMBOLS_H
#define VMOP_OPREPORT_QUERY_SYMBOLS_H

#include "libdb/db.h"
#include "libsym/inlines.h"
#include "libsym/resolver.h"
#include "opreport/query/catalog.h"

struct vmop_symbols;

/*
 * Set *ret to the symbols of the catalog's images, without loading any.  catalog must outlive *ret.
 * sessions, in the catalog's order, must outlive the last call of vmop_symbols_of.
 */
struct vmop_error *vmop_symbols_create(const struct vmop_resolver_options *options,
				       struct vmop_catalog *catalog,
				       const struct vmop_session_input *sessions,
				       struct vmop_symbols **ret);
void vmop_symbols_destroy(struct vmop_symbols *symbols);

/*
 * Set *ret to the symbols of the image with that catalog index, or to NULL and *ret_why to the
 * reason, which the catalog owns.  An image beyond the bounds of memory or CPU time, which all
 * images share, has no symbols.  A kernel with its modules takes about 40 MB and 0.1 s.
 */
#define VMOP_SYMBOLS_MAX_BYTES ((size_t)768 << 20)
#define VMOP_SYMBOLS_MAX_CPU_NS UINT64_C(4000000000)
struct vmop_error *vmop_symbols_of(struct vmop_symbols *symbols, size_t image,
				   const struct vmop_symtab **ret, const char **ret_why);

/*
 * Replace *symbol by the first symbol with its name and offset in any image of that row, so that
 * equal images with separate symbols share a row.
 */
struct vmop_error *vmop_symbols_unify(struct vmop_symbols *symbols, size_t row,
				      const struct vmop_symbol **symbol);

/* Return the number of images that the bounds left without symbols. */
uint64_t vmop_symbols_n_left_out(const struct vmop_symbols *symbols);

/* Return whether a symbol of the image is an idle function: see idle.h.  symtab is always the
 * image's, and has the symbol. */
bool vmop_symbols_is_idle(struct vmop_symbols *symbols, size_t index,
			  const struct vmop_symtab *symtab, const struct vmop_symbol *symbol);

/* Begin a search for inlined functions of files: see libsym/inlines.h.  The caller owns *ret. */
struct vmop_error *vmop_symbols_find_inlines(struct vmop_symbols *symbols, uint64_t max_cpu_ns,
					     struct vmop_inlines **ret);

/* Open the DWARF of the image with that catalog index, as vmop_inlines_open(). */
struct vmop_error *vmop_symbols_open_inlines(const struct vmop_symbols *symbols, size_t image,
					     struct vmop_inlines *inlines,
					     struct vmop_inline_index **ret, const char **ret_why);

/*
 * Return the reference with which libsym finds the file of the image with that catalog index. Of a
 * kernel, offsets are from its _text. It points into the catalog.
 */
struct vmop_image_ref vmop_symbols_ref(const struct vmop_symbols *symbols, size_t image);

/* Return the resolver that finds the files. It belongs to the symbols. */
struct vmop_resolver *vmop_symbols_resolver(const struct vmop_symbols *symbols);

/* Return the name to show, demangled according to the options.  The symbols or the catalog own it.
 */
const char *vmop_symbols_name(struct vmop_symbols *symbols, const struct vmop_symbol *symbol);

#endif
