// SPDX-License-Identifier: GPL-2.0-or-later
/* The images of kept sums, with the runs of their symbol tables and the names (kept-file.h). */
#ifndef VMOP_OPREPORT_QUERY_KEPT_IMAGES_H
#define VMOP_OPREPORT_QUERY_KEPT_IMAGES_H

#include <stdbool.h>
#include <stddef.h>

#include "libdb/db.h"
#include "libsym/symtab.h"
#include "opreport/query/kept-file.h"
#include "opreport/query/symbols.h"

/* Cells of an image. */
struct vmop_kept_source {
	struct vmop_image_id image;
	const struct vmop_symtab *symtab; /* the image's, unless by offset; NULL: no symbols */
	bool by_offset;			  /* the cells are no sums over runs: they have none */
	const struct vmop_db_cell *cells;
	size_t n_cells;
};

struct vmop_kept_images {
	struct vmop_kept_image *items;
	struct vmop_kept_run *runs;
	char *names;
	size_t n, capacity, n_runs, runs_capacity, names_len_bytes, names_capacity;
};

/*
 * Make the images of the sources, each once; this sorts the sources. Names are shown as `symbols`
 * shows them. *images is {0}, and has to be freed whatever is returned. Return false without
 * memory, and for too many names.
 */
bool vmop_kept_images_make(struct vmop_kept_images *images, struct vmop_kept_source *sources,
			   size_t n, struct vmop_symbols *symbols);

void vmop_kept_images_deinit(struct vmop_kept_images *images);

#endif
