// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A symbol table in a mapped file of the cache (symbol-cache.h). Inside libsym only.
 *
 * The table consists of three parts: the spans that look-ups search (libsym/symtab-builder.h), the
 * symbols in the order of vmop_symtab_symbols(), and their names, each with a NUL. Names that the
 * image's file has can be left there (image-names.h). A part is divided into pages of
 * VMOP_MAPPED_PAGE_BYTES, the last one shorter. There is a hash of each page, and the first offset
 * of each page of spans. A look-up reads and checks a few pages, and only symbols that are found
 * take memory: a report needs a few hundred symbols of a table with half a million.
 *
 * A damaged page is found when it is needed. The table is then made again by a function of the
 * resolver. A symbol that was found keeps its place in memory, because readers compare symbols by
 * it. vmop_symtab_symbols() gives copies.
 *
 * One thread at a time.
 */
#ifndef VMOP_LIBSYM_CACHE_MAPPED_SYMTAB_H
#define VMOP_LIBSYM_CACHE_MAPPED_SYMTAB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libsym/cache/image-names.h"
#include "libsym/symtab-builder.h"

/* A symbol in the file. */
struct vmop_mapped_symbol {
	uint64_t offset, len_bytes;
	uint32_t name; /* its position among the names, or in the image's string table */
	uint32_t type; /* a letter, and VMOP_MAPPED_IN_IMAGE */
};

/* The name is in the image's file. */
#define VMOP_MAPPED_IN_IMAGE ((uint32_t)1 << 8)

/* No span and no symbol crosses the end of a page. */
#define VMOP_MAPPED_PAGE_BYTES ((size_t)1536)
#define VMOP_MAPPED_SPANS_PER_PAGE (VMOP_MAPPED_PAGE_BYTES / sizeof(struct vmop_symtab_span))

_Static_assert(sizeof(struct vmop_mapped_symbol) == 24 && sizeof(struct vmop_symtab_span) == 24 &&
		       VMOP_MAPPED_PAGE_BYTES % 24 == 0,
	       "a file's form");

enum vmop_mapped_part { VMOP_MAPPED_SPANS, VMOP_MAPPED_SYMBOLS, VMOP_MAPPED_NAMES, VMOP_MAPPED_N };

/* The sizes of a table. */
struct vmop_mapped_sizes {
	size_t n_spans, n; /* spans, symbols */
	size_t names_len_bytes;
};

/* Return the number of pages of a part. */
size_t vmop_mapped_n_pages(const struct vmop_mapped_sizes *sizes, enum vmop_mapped_part part);

/*
 * The places of a table in its file, in bytes: the first offsets (8 bytes for each page of spans),
 * the hashes (8 bytes for each page of the parts, in their order), and the parts.
 */
struct vmop_mapped_layout {
	size_t firsts_at, hashes_at, parts_at[VMOP_MAPPED_N], end;
};

/* Return the layout of a table behind a header of that many bytes, a multiple of 8. */
struct vmop_mapped_layout vmop_mapped_lay_out(const struct vmop_mapped_sizes *sizes,
					      size_t header_bytes);

/* Return the hash of a page. */
uint64_t vmop_mapped_hash(const void *page, size_t len_bytes);

/*
 * Make a table of the file mapped at start. The caller has checked that it has layout->end bytes,
 * and that the first offsets and the hashes are as they were written. image_names NULL: no name is
 * in the image's file. Takes ownership of the mapping and of image_names, also on error.
 */
struct vmop_error *vmop_mapped_symtab_create(void *start, const struct vmop_mapped_layout *layout,
					     const struct vmop_mapped_sizes *sizes,
					     struct vmop_image_names *image_names,
					     struct vmop_symtab **ret);

/* Return the mapped table behind symtab, or NULL if it is of another kind or NULL. */
struct vmop_mapped_symtab;
struct vmop_mapped_symtab *vmop_mapped_symtab_of(const struct vmop_symtab *symtab);

/*
 * Set the function that makes the table again, once, if a page is damaged. It returns NULL if it
 * cannot; the caller owns the result. Without it, if the new table has other symbols, and if the
 * image's file with names has changed, the symbols of damaged pages are not found.
 */
void vmop_mapped_symtab_set_remake(struct vmop_mapped_symtab *mapped,
				   struct vmop_symtab *(*remake)(void *arg), void *arg);

#endif
