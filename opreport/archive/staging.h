// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A temporary directory beside a result, which appears complete and at once, or not at all. It has
 * the mode 0700, and a name that begins with a dot. Members are made below it by descriptor.
 */
#ifndef VMOP_OPREPORT_ARCHIVE_STAGING_H
#define VMOP_OPREPORT_ARCHIVE_STAGING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "libutil/error.h"

struct vmop_staging {
	int parent_fd;	    /* of the directory that the result is in */
	int fd;		    /* of the temporary directory; -1: none */
	char *target;	    /* the result's name in the parent */
	char *name;	    /* the temporary directory's name in the parent */
	char *path;	    /* its path, for messages */
	bool has_empty_dir; /* the target is an empty directory, which the result replaces */
	mode_t mode;	    /* of that directory */
};
#define VMOP_STAGING_NONE ((struct vmop_staging){.parent_fd = -1, .fd = -1})

/*
 * Make a temporary directory beside path. With is_dir, path must not exist, or be an empty
 * directory (VMOP_ERROR_CANT). The caller deinitialises *ret also after an error.
 */
struct vmop_error *vmop_staging_init(struct vmop_staging *ret, const char *path, bool is_dir);

/* Remove the temporary directory with all that is in it, unless it has become the result. */
void vmop_staging_deinit(struct vmop_staging *staging);

/* Make the file FOLDER/NAME, or NAME, mode 0600, and its folder. The caller closes *ret_fd. */
struct vmop_error *vmop_staging_create(const struct vmop_staging *staging, const char *name,
				       int *ret_fd);
struct vmop_error *vmop_staging_make_folder(const struct vmop_staging *staging, const char *folder);

/* Write the time of the last change of an open file. */
struct vmop_error *vmop_staging_set_time(int fd, const char *name, uint64_t mtime_ns);

/* Let the temporary directory be the result. */
struct vmop_error *vmop_staging_commit(struct vmop_staging *staging);

/* Let the file `name` in it be the result, in place of a file that is there. */
struct vmop_error *vmop_staging_commit_file(struct vmop_staging *staging, const char *name);

#endif
