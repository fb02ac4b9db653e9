// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A session's file and what SQLite keeps beside it (-journal, -wal, -shm), looked at before SQLite
 * opens any of them: SQLite waits at a FIFO, obeys any journal, and maps a -shm that its owner can
 * cut short.
 */
#ifndef VMOP_LIBDB_FILE_SET_H
#define VMOP_LIBDB_FILE_SET_H

#include <stdbool.h>

#include "libutil/safe-dir.h"

struct vmop_file_set {
	int fd; /* O_PATH, the session's file; -1: it is missing */
	/* Only root and this user can change any of the files, or which files there are. */
	bool is_trusted;
	bool has_wal, has_journal; /* that hold something */
	const char *not_regular;   /* suffix of a file that is a FIFO, a link, ...; NULL: none */
};

/*
 * Look at the file `name` in dir, and at those beside it. Opens nothing but descriptors of
 * O_PATH. Fails if the file is there but no regular file; path is for messages. The caller
 * deinitializes *ret also after an error.
 */
struct vmop_error *vmop_file_set_init(struct vmop_file_set *ret, const struct vmop_dir *dir,
				      const char *name, const char *path);
void vmop_file_set_deinit(struct vmop_file_set *set);

/* Fail unless SQLite may use the files as its own, with locks, journals and all. */
struct vmop_error *vmop_file_set_check(const struct vmop_file_set *set, const char *path);

#endif
