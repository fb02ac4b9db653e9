// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Directories that no other user can change, opened once and used by descriptor.
 *
 * A path is resolved one component at a time, as path_resolution(7) describes. A directory is safe
 * if root or this process's user owns it, no other user may write it, and the same holds for each
 * directory that leads to it. On the way, a sticky directory that everyone may write (/tmp) is
 * accepted if its entry on the path belongs to root or to this process's user. Write permission
 * of a group counts as another user's, except for root's group and, where this process is not
 * root's, for its own group: many systems give each user a private group.
 *
 * Nobody but those users can then rename, replace or link an entry between a check and its use.
 */
#ifndef VMOP_LIBUTIL_SAFE_DIR_H
#define VMOP_LIBUTIL_SAFE_DIR_H

#include <stdbool.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "libutil/error.h"

enum vmop_dir_open {
	VMOP_DIR_SAFE = 1 << 0, /* refuse a directory that another user can change */
	VMOP_DIR_MAKE = 1 << 1, /* make the last component, mode 0755, if it is missing */
	/* The path names a file: open the directory that holds it, also behind symbolic links. */
	VMOP_DIR_OF_FILE = 1 << 2,
};

struct vmop_dir {
	int fd;	      /* O_PATH; -1: none */
	bool is_safe; /* no other user can change it */
	/* A symbolic link was followed that another user can change. */
	bool by_foreign_link;
	char *file; /* with VMOP_DIR_OF_FILE: the file's name in it, without slash; else NULL */
};
#define VMOP_DIR_NONE ((struct vmop_dir){.fd = -1})

/*
 * Open the directory at path. flags are of enum vmop_dir_open. On an error *ret is
 * VMOP_DIR_NONE. The error names the unsafe component and a remedy.
 */
struct vmop_error *vmop_dir_open(const char *path, unsigned flags, struct vmop_dir *ret);

/* Close the descriptor and free the name. VMOP_DIR_NONE is allowed. */
void vmop_dir_deinit(struct vmop_dir *dir);

/* Whether files of this user may be trusted: root, or the user that this process acts as. */
bool vmop_uid_is_trusted(uid_t uid);

/* Whether the mode and group in st let another user write: see above for groups. */
bool vmop_others_may_write(const struct stat *st);

/*
 * Open the regular file `name` of directory dir_fd without side effects: a symbolic link, FIFO or
 * device is refused and never opened, so nothing waits. flags are of open(2), without O_CREAT.
 * path is for messages.
 */
struct vmop_error *vmop_open_regular_at(int dir_fd, const char *name, int flags, const char *path,
					int *ret_fd);

/*
 * Open the file at path to be written anew, made with mode 0666 less the umask if it is missing. If
 * another user can change its directory, only a regular file that root or this user owns is
 * written there: no link, FIFO or file that the other user put in its place.
 */
struct vmop_error *vmop_open_output(const char *path, int *ret_fd);

#endif
