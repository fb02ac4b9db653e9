// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sampled symbols: of an image with very many symbols, a session stores only those of the code that
 * its cells and nodes of stacks refer to.  A kernel has 120,000 symbols, which take 0.67 MB packed;
 * a session has samples in some hundred of them.
 *
 * The writer has all symbols of such images in memory, packed in pages.  It marks those that an
 * interval needs, and stores the marked ones as part of the interval's transaction.
 */
#ifndef VMOP_LIBDB_SYMBOLS_SAMPLED_SYMBOLS_H
#define VMOP_LIBDB_SYMBOLS_SAMPLED_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libdb/types.h"
#include "libutil/error.h"

struct vmop_sampled_image;

/* The images of a writer.  It begins zeroed. */
struct vmop_sampled_symbols {
	struct vmop_sampled_image **by_id; /* n of them; NULL: no such image */
	size_t n;
};

void vmop_sampled_symbols_deinit(struct vmop_sampled_symbols *sampled);

/* See vmop_db_pack_symbols and the two functions after it in db.h. */
struct vmop_error *vmop_sampled_symbols_make_book(const struct vmop_symbol *symbols, size_t n,
						  const char *const *always, void **ret,
						  size_t *ret_len_bytes);
struct vmop_error *vmop_sampled_symbols_check_book(const void *packed, size_t len_bytes);
struct vmop_error *vmop_sampled_symbols_add(struct vmop_sampled_symbols *sampled,
					    struct vmop_image_id image, const void *packed,
					    size_t len_bytes);

/* Mark the symbols that contain an offset, if symbols of the image were offered. */
void vmop_sampled_symbols_mark_image(struct vmop_sampled_image *image, uint64_t offset);
static inline void vmop_sampled_symbols_mark(const struct vmop_sampled_symbols *sampled,
					     struct vmop_image_id image, uint64_t offset)
{
	if (image.number < sampled->n && sampled->by_id[image.number])
		vmop_sampled_symbols_mark_image(sampled->by_id[image.number], offset);
}

/* Return whether the image, id < n, has marks that no committed row has. */
bool vmop_sampled_symbols_is_dirty(const struct vmop_sampled_symbols *sampled, uint32_t id);

/* Pack the marked symbols of such an image, as symbols.h does. The caller frees *ret. */
struct vmop_error *vmop_sampled_symbols_pack(const struct vmop_sampled_symbols *sampled,
					     uint32_t id, uint8_t **ret, size_t *ret_len_bytes,
					     size_t *ret_n);

/* Mark all images as committed.  Without this call, the next interval packs the same marks again.
 */
void vmop_sampled_symbols_commit(struct vmop_sampled_symbols *sampled);

#endif
