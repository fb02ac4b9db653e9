// SPDX-License-Identifier: GPL-2.0-or-later
/* Where the file of an image and its debug file are.  Inside libsym only. */
#ifndef VMOP_LIBSYM_FILE_FINDER_H
#define VMOP_LIBSYM_FILE_FINDER_H

#include "libsym/debuginfod-client.h"
#include "libsym/image-file.h"
#include "libsym/resolver.h"

struct vmop_file_finder {
	char **image_paths, **debug_paths; /* NULL-terminated */
	int root_fd;			   /* AT_FDCWD: none was given */
	struct vmop_debuginfod_client *debuginfod;
};

struct vmop_error *vmop_file_finder_init(struct vmop_file_finder *finder,
					 const struct vmop_resolver_options *options);
void vmop_file_finder_deinit(struct vmop_file_finder *finder);

/*
 * The file of ref, its build-id verified where ref has one.  *ret NULL, with no
 * error: there is none, and *ret_why (a constant) says why.  budget pays for all that is read, and
 * outlives *ret; once it is spent the error is VMOP_ERROR_LIMIT.
 */
struct vmop_error *vmop_file_finder_find_image(const struct vmop_file_finder *finder,
					       const struct vmop_image_ref *ref,
					       struct vmop_sym_budget *budget,
					       struct vmop_image_file **ret, const char **ret_why);

/*
 * Calls use for each debug file of ref, verified by build-id, or else by the
 * checksum in image's link, until it says *done.  image may be NULL: then ref's build-id
 * alone counts.  What use returns ends the search and is returned.  budget: as above.
 * *ret_too_costly: there is one that is too large to be verified by its checksum.
 */
struct vmop_error *vmop_file_finder_each_debug_file(
	const struct vmop_file_finder *finder, const struct vmop_image_ref *ref,
	const struct vmop_image_file *image,
	struct vmop_error *(*use)(void *arg, const struct vmop_image_file *file, bool *done),
	void *arg, struct vmop_sym_budget *budget, bool *ret_too_costly);

#endif
