// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Open directories that no other user can change once, and use them by descriptor.
 *
 * A path is resolved one component at a time, as path_resolution(7) describes. A directory is safe
 * if root or this process's user owns it, no other user may write it, and the same holds for each
 * directory that leads to it. A sticky directory that everyone may write (/tmp) is accepted on the
 * way if its entry on the path belongs to root or to this process's user. Write permission of a
 * group counts as another user's. Exceptions are root's group and, unless this process is root's,
 * its own group: many systems give each user a private group.
 *
 * Therefore no other user can rename, replace or link an entry between a check and its use.
 */
#ifndef VMOP_LIBUTIL_DIRS_SAFE_DIR_H
#define VMOP_LIBUTIL_DIRS_SAFE_DIR_H

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
	/* The path led through a symbolic link that another user can change. */
	bool by_foreign_link;
	char *file; /* with VMOP_DIR_OF_FILE: the file's name in the directory, without a slash;
		       else NULL */
};
#define VMOP_DIR_NONE ((struct vmop_dir){.fd = -1})

/*
 * Open the directory at path. flags are those of enum vmop_dir_open. On an error *ret is
 * VMOP_DIR_NONE. The error names the unsafe component and a remedy.
 */
struct vmop_error *vmop_dir_open(const char *path, unsigned flags, struct vmop_dir *ret);

/* Close the descriptor and free the name. VMOP_DIR_NONE is allowed. */
void vmop_dir_deinit(struct vmop_dir *dir);

/* Return true if files of this user may be trusted: root, or the user that this process acts as. */
bool vmop_uid_is_trusted(uid_t uid);

/* Return true if the mode and group in st let another user write. See above for groups. */
bool vmop_others_may_write(const struct stat *st);

/*
 * Open the regular file `name` of directory dir_fd without side effects. Symbolic links, FIFOs and
 * devices are refused without being opened, so the call never waits. flags are those of open(2),
 * without O_CREAT. path is used in messages.
 */
struct vmop_error *vmop_open_regular_at(int dir_fd, const char *name, int flags, const char *path,
					int *ret_fd);

/*
 * Open the file at path for writing and truncate it; make it with mode 0666 less the umask if it is
 * missing. If another user can change its directory, only a regular file of root or this user is
 * opened: no link, FIFO or file that the other user put there.
 */
struct vmop_error *vmop_open_output(const char *path, int *ret_fd);

#endif
