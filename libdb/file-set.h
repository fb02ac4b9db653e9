// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A session's file and SQLite's files beside it (-journal, -wal, -shm), checked before SQLite opens
 * them.  SQLite would wait at a FIFO, apply any journal, and map a -shm that its owner can
 * truncate.
 */
#ifndef VMOP_LIBDB_FILE_SET_H
#define VMOP_LIBDB_FILE_SET_H

#include <stdbool.h>

#include "libutil/dirs/safe-dir.h"

struct vmop_file_set {
	int fd; /* O_PATH, of the session's file; -1: it is missing */
	/* Only root and this user can change the files, or create and remove them. */
	bool is_trusted;
	bool has_wal, has_journal; /* and they are not empty */
	const char *not_regular;   /* suffix of a file that is a FIFO, a link, ...; NULL: none */
};

/*
 * Examine the file `name` in dir and the files beside it, with O_PATH descriptors only.  Fails if
 * the file is there but is no regular file.  Messages contain path.  The caller deinitializes *ret
 * after errors, too.
 */
struct vmop_error *vmop_file_set_init(struct vmop_file_set *ret, const struct vmop_dir *dir,
				      const char *name, const char *path);
void vmop_file_set_deinit(struct vmop_file_set *set);

/* Fail if SQLite must not open the files with its locks and journals. */
struct vmop_error *vmop_file_set_check(const struct vmop_file_set *set, const char *path);

#endif
