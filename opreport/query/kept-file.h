// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The bytes of kept sums (kept-sums.h) in a file of the user's cache: a header, places, images,
 * runs, cells, and the names of symbols, each with a NUL.  Byte order and widths are this
 * machine's.  One hash is checked for the whole file; a damaged one counts as missing.
 */
#ifndef VMOP_OPREPORT_QUERY_KEPT_FILE_H
#define VMOP_OPREPORT_QUERY_KEPT_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libdb/db.h"
#include "libsym/resolver.h"
#include "libsym/symtab.h"

/* The largest file. */
#define VMOP_KEPT_FILE_MAX_BYTES ((size_t)32 << 20)

/* The samples that the sums are made of. */
struct vmop_kept_state {
	uint64_t session[2]; /* hash of what distinguishes the session */
	/* Facts of the session's file, which then is unchanged; zeros: see kept-state.h. */
	uint64_t file_len_bytes, mtime_ns, ctime_ns;
	uint64_t start_ns, end_ns; /* CLOCK_REALTIME, of the intervals first to last */
	uint32_t first, last;	   /* ids of intervals */
};

/* The cells of one place follow one another, in the order of the places. */
struct vmop_kept_place {
	struct vmop_db_chunk_key key; /* of all stacks, and of all tasks but a host's idle one */
	uint32_t n_cells;
};

/* An image whose cells are sums over runs of its symbol table, in the order of the images. */
struct vmop_kept_image {
	struct vmop_image_id image;
	uint32_t n_runs;
	uint64_t identity; /* of its symbol table; VMOP_KEPT_NO_SYMBOLS: it has none */
};
#define VMOP_KEPT_NO_SYMBOLS 0

struct vmop_kept_run {
	uint64_t start, end, offset, len_bytes; /* of the run, and of its symbol */
	uint32_t index;	      /* of the symbol in its table; VMOP_SYMTAB_NO_INDEX: none */
	uint32_t first;	      /* the first of the image's runs that has this symbol */
	uint32_t name, shown; /* positions among the names */
	uint32_t type, zero;
};

struct vmop_kept_file {
	struct vmop_kept_state state;
	const struct vmop_kept_place *places;
	const struct vmop_kept_image *images;
	const struct vmop_kept_run *runs; /* of an image ascending, without overlap */
	const struct vmop_db_cell *cells; /* offset: any of the run, or exact */
	const char *names;
	enum vmop_demangle demangle; /* the form of shown names */
	size_t n_places, n_images, n_runs, n_cells, names_len_bytes;
};

/*
 * Find the parts of a file, which must be aligned to 8 bytes and live as long as *ret is used.
 * Return false for another version, and for any damage.
 */
bool vmop_kept_file_parse(const void *bytes, size_t len_bytes, struct vmop_kept_file *ret);

/* Return the bytes of a file on the heap, or NULL: no memory, or too large. */
void *vmop_kept_file_make(const struct vmop_kept_file *file, size_t *ret_len_bytes);

#endif
