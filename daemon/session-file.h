// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The file of a running session. It begins beside current.vmop, is put in its place, and is checked
 * for being moved or deleted.
 *
 * A file begins under another name (vmop_session_new_path), so a failed or killed start leaves the
 * session before as it was. One thread at a time uses a file: the session's, or file-keeper.h's.
 */
#ifndef VMOP_DAEMON_SESSION_FILE_H
#define VMOP_DAEMON_SESSION_FILE_H

#include "libdb/db.h"
#include "libutil/error.h"
#include "libutil/setup.h"

struct vmop_session_file {
	struct vmop_db *db; /* NULL: no file */
	int fd;		    /* of the file, only for its identity; -1: not in its place yet */
};

/* No file. */
#define VMOP_SESSION_FILE_NONE ((struct vmop_session_file){.fd = -1})

/*
 * Create a file under its first name (vmop_session_create), with its first transaction, after which
 * a writer need not sync. is_live: a thread syncs it (vmop_db_checkpoint_beside).
 */
struct vmop_error *vmop_session_file_create(const char *dir, mode_t mode, bool is_live,
					    struct vmop_session_file *ret);

/* The fate of the file that is in the new file's place. */
struct vmop_session_succession {
	/* The open file that the new one replaces; NULL: no file is open. */
	struct vmop_session_file *before;
	const char *saved_as; /* the new path of `before` */
	/* Result without `before`: the new name of a finished session, or NULL. The caller frees.
	 */
	char *kept;
};

/*
 * Rename `file`, which began as vmop_session_new_path(dir), to current.vmop in dir, and `before` to
 * saved_as. Both stay open, and nothing is synced. On an error both have their names as before.
 */
struct vmop_error *vmop_session_file_publish(struct vmop_session_file *file, const char *dir,
					     struct vmop_session_succession *succession);

/* Close and remove a file that is not in its place yet. */
void vmop_session_file_discard(struct vmop_session_file *file, const char *dir);

enum vmop_session_file_place {
	VMOP_SESSION_FILE_THERE,
	VMOP_SESSION_FILE_MOVED,   /* it has another name */
	VMOP_SESSION_FILE_DELETED, /* no name at all */
};
/* Return whether path still leads to file, which was put there. */
enum vmop_session_file_place vmop_session_file_place(const struct vmop_session_file *file,
						     const char *path);

/* Close db with vmop_db_finish_within, or with vmop_db_abandon if the file was moved or deleted. */
struct vmop_error *vmop_session_file_finish(struct vmop_session_file *file, unsigned wait_ms);
struct vmop_error *vmop_session_file_abandon(struct vmop_session_file *file);
/* Store the facts of the whole session, its start, and its end (CLOCK_REALTIME). */
struct vmop_error *vmop_session_file_put_facts(struct vmop_db *db, const struct vmop_setup *setup,
					       const char *source, uint64_t start_ns);
struct vmop_error *vmop_session_file_put_start(struct vmop_db *db, uint64_t start_ns);
struct vmop_error *vmop_session_file_put_end(struct vmop_db *db, uint64_t end_ns);

/* Only close db. */
void vmop_session_file_close(struct vmop_session_file *file);

#endif
