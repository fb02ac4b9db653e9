// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sampled symbols: of an image with very many symbols, a session stores only those of the code that
 * its cells and nodes of stacks refer to.  A kernel has 120,000 symbols, which take 0.67 MB packed;
 * a session has samples in some hundred of them.
 *
 * The writer has all symbols of such images in memory, packed in pages.  It marks those that an
 * interval needs, and stores the marked ones as part of the interval's transaction.
 */
#ifndef VMOP_LIBDB_SAMPLED_SYMBOLS_H
#define VMOP_LIBDB_SAMPLED_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

#include "libdb/types.h"
#include "libutil/error.h"

struct vmop_db;
struct vmop_sampled_image;

/* The images of a writer.  It begins zeroed. */
struct vmop_sampled_symbols {
	struct vmop_sampled_image **by_id; /* n of them; NULL: no such image */
	size_t n;
};

void vmop_sampled_symbols_deinit(struct vmop_sampled_symbols *sampled);

/* Mark the symbols that contain an offset, if symbols of the image were offered. */
void vmop_sampled_symbols_mark_image(struct vmop_sampled_image *image, uint64_t offset);
static inline void vmop_sampled_symbols_mark(const struct vmop_sampled_symbols *sampled,
					     struct vmop_image_id image, uint64_t offset)
{
	if (image.number < sampled->n && sampled->by_id[image.number])
		vmop_sampled_symbols_mark_image(sampled->by_id[image.number], offset);
}

/* Write the rows of images with newly marked symbols, as part of the open interval. */
struct vmop_error *vmop_sampled_symbols_put(struct vmop_db *db);

/* After a rollback, the next interval writes all rows again that were not committed. */
void vmop_sampled_symbols_commit(struct vmop_sampled_symbols *sampled);

#endif
