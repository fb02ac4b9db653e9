// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Recorded results of the search for images' files, so that a resolver finds the same files on
 * another machine. An archive of sessions has them (opreport/archive). With answers, a resolver
 * reads only files below their directory: none at an image's own path, no debuginfod, no cache, not
 * this process's vDSO. Build-ids and checksums are verified as for any other file.
 *
 * One thread at a time.
 */
#ifndef VMOP_LIBSYM_FILE_ANSWERS_H
#define VMOP_LIBSYM_FILE_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>

#include "libsym/build-id.h"
#include "libsym/image-ref.h"

/* The result of a search for the files of one image. */
struct vmop_file_answer {
	struct vmop_image_ref ref; /* `addresses` does not matter */
	const char *file;	   /* below the directory; NULL: none was found */
	const char *reason;	   /* without a file: of vmop_file_reason() in found-files.h */
	const char *const *debug_files;
	size_t n_debug_files;
};

struct vmop_file_answers {
	int dir_fd;
	const struct vmop_file_answer *items; /* n, sorted by vmop_file_answers_sort() */
	size_t n;
};

/* Sort n answers by their refs. */
void vmop_file_answers_sort(struct vmop_file_answer *items, size_t n);

/* Return the answer for ref, or NULL. */
const struct vmop_file_answer *vmop_file_answers_find(const struct vmop_file_answers *answers,
						      const struct vmop_image_ref *ref);

#endif
