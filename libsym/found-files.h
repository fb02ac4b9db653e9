// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * All files that a resolver would read for an image, as an archive of sessions needs them: its own
 * file, and its debug files in the order in which they are tried.
 *
 * Only opreport uses this. One thread at a time.
 */
#ifndef VMOP_LIBSYM_FOUND_FILES_H
#define VMOP_LIBSYM_FOUND_FILES_H

#include <stddef.h>

#include "libsym/resolver.h"

/* Debug files of one image; further ones are left out. */
#define VMOP_FOUND_DEBUG_FILES_MAX 8

struct vmop_found_file {
	int fd;	    /* of a regular file, or of a copy in memory */
	char *path; /* where it was found */
	struct vmop_build_id build_id;
};

struct vmop_found_files {
	bool has_image;
	struct vmop_found_file image;
	const char *reason; /* without has_image: a constant */
	struct vmop_found_file debug[VMOP_FOUND_DEBUG_FILES_MAX];
	size_t n_debug;
};

/*
 * Find the files of ref. Debug files are searched up to one that has both symbols and DWARF, unless
 * the image's file has both. Damaged files, and those that are too costly (libsym/budget.h), count
 * as missing. The only error is VMOP_ERROR_NO_MEMORY; the caller deinitialises *ret also then.
 */
struct vmop_error *vmop_found_files_init(struct vmop_found_files *ret,
					 const struct vmop_resolver *resolver,
					 const struct vmop_image_ref *ref);
void vmop_found_files_deinit(struct vmop_found_files *files);

/* Return the constant with this text that a search gives as its reason, or that it is unknown. */
const char *vmop_file_reason(const char *text);

#endif
