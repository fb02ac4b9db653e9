// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Inlined functions of a report's images, by DWARF, within one budget of CPU time and memory for
 * all of them. The DWARF is that of the image's file, or of its debug file; a resolver finds both,
 * as for symbols.
 *
 * Only opreport uses this. One thread at a time.
 */
#ifndef VMOP_LIBSYM_INLINES_H
#define VMOP_LIBSYM_INLINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libsym/resolver.h"

/* The bound of functions inlined at one address; the outermost ones beyond it are left out. */
#define VMOP_INLINES_MAX 32

struct vmop_inlines;
struct vmop_inline_index; /* of an image */

/*
 * Create a collection of images. CPU time of this thread counts from now on, at most max_cpu_ns,
 * and at most 480 MiB of memory. resolver must outlive *ret.
 */
struct vmop_error *vmop_inlines_create(struct vmop_resolver *resolver, uint64_t max_cpu_ns,
				       struct vmop_inlines **ret);
void vmop_inlines_destroy(struct vmop_inlines *inlines); /* NULL is allowed */

/*
 * Open the DWARF of an image. *ret belongs to inlines; it is NULL, without an error, if there is
 * none that can be read, and *ret_reason, a constant, gives the reason. The caller keeps *ret: each
 * call reads the file anew. The only error is VMOP_ERROR_NO_MEMORY.
 */
struct vmop_error *vmop_inlines_open(struct vmop_inlines *inlines, const struct vmop_image_ref *ref,
				     struct vmop_inline_index **ret, const char **ret_reason);

/*
 * Set ret_names to the functions inlined at an offset of the image's file or, with ref's addresses,
 * from the kernel's _text, innermost first, and *ret_n to their number, 0 if there are none. Names
 * are mangled where the language mangles them; inlines owns them. False: there is too little CPU
 * time left, or the image takes too much memory.
 */
bool vmop_inlines_find(struct vmop_inlines *inlines, struct vmop_inline_index *index,
		       uint64_t offset, const char *ret_names[VMOP_INLINES_MAX], size_t *ret_n);

/* Return whether no CPU time is left. */
bool vmop_inlines_are_over(struct vmop_inlines *inlines);

#endif
