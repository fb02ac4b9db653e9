// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The files of kernel modules below some folders, by the module's name. Inside libsym only; one
 * thread at a time.
 */
#ifndef VMOP_LIBSYM_MODULE_FILES_H
#define VMOP_LIBSYM_MODULE_FILES_H

#include <stddef.h>

#include "libutil/error.h"

/* NAME.ko, or that with .xz, .zst or .gz. */
struct vmop_module_file {
	int root_fd; /* of the path: AT_FDCWD, or the root's descriptor */
	char *path;
	char *name; /* as the kernel has it: with underscores, without a suffix */
};

struct vmop_module_files;

/*
 * Create the collection for the n folders, and /lib/modules below root_fd, which is AT_FDCWD or a
 * descriptor. Nothing is read yet. root_fd must stay open, and folders must outlive *ret. The
 * caller destroys *ret.
 */
struct vmop_error *vmop_module_files_create(int root_fd, char *const *folders, size_t n,
					    struct vmop_module_files **ret);
void vmop_module_files_destroy(struct vmop_module_files *files); /* NULL is allowed */

/*
 * Set *ret to the *ret_n files of the module "[NAME]", those of the folders first. "-" and "_" are
 * the same in a name. The first call lists the folders and all below them, without following
 * links: at most 16 levels and 131,072 entries. files owns *ret. Folders that cannot be read count
 * as empty, so that the only error is VMOP_ERROR_NO_MEMORY.
 */
struct vmop_error *vmop_module_files_find(struct vmop_module_files *files, const char *name,
					  const struct vmop_module_file **ret, size_t *ret_n);

#endif
