// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Source lines of a report's images, by DWARF, within one budget of CPU time and memory for all of
 * them. The DWARF is that of the image's file, or of its debug file; a resolver finds both, as for
 * symbols.
 *
 * Only opreport uses this. One thread at a time.
 */
#ifndef VMOP_LIBSYM_LINES_H
#define VMOP_LIBSYM_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libsym/line.h"
#include "libsym/resolver.h"

struct vmop_lines;
struct vmop_image_lines; /* of an image */

/*
 * Create a collection of images. CPU time of this thread counts from now on, at most max_cpu_ns,
 * and at most 480 MiB of memory. resolver must outlive *ret.
 */
struct vmop_error *vmop_lines_create(struct vmop_resolver *resolver, uint64_t max_cpu_ns,
				     struct vmop_lines **ret);
void vmop_lines_destroy(struct vmop_lines *lines); /* NULL is allowed */

/*
 * Open the line tables of an image. *ret belongs to lines; it is NULL, without an error, if there
 * are none that can be read, and *ret_reason, a constant, gives the reason. The caller keeps *ret:
 * each call reads the file anew. The only error is VMOP_ERROR_NO_MEMORY.
 */
struct vmop_error *vmop_lines_open(struct vmop_lines *lines, const struct vmop_image_ref *ref,
				   struct vmop_image_lines **ret, const char **ret_reason);

/*
 * Set *ret to the line of the code at an offset of the image: of its file or, with ref's addresses,
 * from the kernel's _text. Its path is NULL without a line; lines owns its strings. False: there
 * is too little CPU time left, or the image takes too much memory.
 */
bool vmop_lines_find(struct vmop_lines *lines, struct vmop_image_lines *image, uint64_t offset,
		     struct vmop_line *ret);

#endif
