// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The names of a table that the cache leaves in the image's file. Inside libsym only.
 *
 * The cache knows an image without a build-id by the identity of its file. As long as the key
 * fits, the file has the string table that the symbols were made of. The names are the largest part
 * of a large table, so the cache does not copy them.
 *
 * The file is read with pread(2), and never mapped: another program can shorten it. If it changed
 * since the table was loaded, no name is read of it.
 *
 * One thread at a time.
 */
#ifndef VMOP_LIBSYM_CACHE_IMAGE_NAMES_H
#define VMOP_LIBSYM_CACHE_IMAGE_NAMES_H

#include <stdbool.h>
#include <stddef.h>

#include "libsym/symtab-builder.h"
#include "libutil/error.h"

struct vmop_image_names;

/* Read names in a place of the file at fd. Copies fd. VMOP_ERROR_OS without a descriptor. */
struct vmop_error *vmop_image_names_create(int fd, const struct vmop_names_place *place,
					   struct vmop_image_names **ret);
void vmop_image_names_destroy(struct vmop_image_names *names); /* NULL is allowed */

/* Return whether the file is as it was when the table was loaded. */
bool vmop_image_names_are_whole(const struct vmop_image_names *names);

/*
 * Return the name at a position of the string table, without a version behind it, or NULL: the file
 * changed, the position is none of a name, or there is no memory. names owns the result.
 */
const char *vmop_image_names_at(struct vmop_image_names *names, size_t at);

/* Read all names at once, because most of them are needed. Without success, each is read. */
void vmop_image_names_read_all(struct vmop_image_names *names);

#endif
