// SPDX-License-Identifier: GPL-2.0-or-later
/* Find the file of an image and its debug file. Inside libsym only. */
#ifndef VMOP_LIBSYM_FILE_FINDER_H
#define VMOP_LIBSYM_FILE_FINDER_H

#include "libsym/debuginfod-client.h"
#include "libsym/elf/image-file.h"
#include "libsym/file-answers.h"
#include "libsym/module-files.h"
#include "libsym/resolver.h"

struct vmop_file_finder {
	char **image_paths, **debug_paths; /* NULL-terminated */
	int root_fd;			   /* AT_FDCWD: no root given */
	struct vmop_debuginfod_client *debuginfod;
	struct vmop_module_files *modules;	 /* NULL with answers */
	const struct vmop_file_answers *answers; /* NULL: files are searched */
};

/* Return the finder of a resolver, which owns it. */
const struct vmop_file_finder *vmop_resolver_finder(const struct vmop_resolver *resolver);

struct vmop_error *vmop_file_finder_init(struct vmop_file_finder *finder,
					 const struct vmop_resolver_options *options);
void vmop_file_finder_deinit(struct vmop_file_finder *finder);

/* Return the i-th constant reason of a search without a result, or NULL behind the last one. */
const char *vmop_file_finder_reason(size_t i);

/*
 * Find the file of ref and verify its build-id if ref has one. If no file is found, *ret is NULL
 * without an error and *ret_reason (a constant) gives the reason. budget pays for every read and
 * must outlive *ret. When it runs out, the error is VMOP_ERROR_LIMIT.
 */
struct vmop_error *vmop_file_finder_find_image(const struct vmop_file_finder *finder,
					       const struct vmop_image_ref *ref,
					       struct vmop_sym_budget *budget,
					       struct vmop_image_file **ret,
					       const char **ret_reason);

/*
 * Call `use` for each debug file of ref until `use` sets *done. Files are verified by build-id, or
 * else by the checksum in image's .gnu_debuglink. image may be NULL: then only ref's build-id
 * verifies. An error of `use` ends the search and is returned. budget: as above. *ret_too_costly: a
 * file was too large to be verified by its checksum.
 */
struct vmop_error *vmop_file_finder_each_debug_file(
	const struct vmop_file_finder *finder, const struct vmop_image_ref *ref,
	const struct vmop_image_file *image,
	struct vmop_error *(*use)(void *arg, const struct vmop_image_file *file, bool *done),
	void *arg, struct vmop_sym_budget *budget, bool *ret_too_costly);

#endif
