// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The file that a running session writes: begun beside current.vmop, put in its place, and watched
 * for being still there.
 *
 * A session is begun under another name (vmop_session_new_path), so that a start that fails, or is
 * killed, leaves the session before as it was.  One thread, the session's.
 */
#ifndef VMOP_DAEMON_SESSION_FILE_H
#define VMOP_DAEMON_SESSION_FILE_H

#include "libdb/db.h"
#include "libutil/error.h"
#include "libutil/setup.h"

struct vmop_session_file {
	struct vmop_db *db; /* NULL: there is no file */
	int fd; /* of the file, for nothing but its identity; -1: not in its place so far */
};

/* No file. */
#define VMOP_SESSION_FILE_NONE ((struct vmop_session_file){.fd = -1})

/* Where the daemon's session was, and what is to become of it. */
struct vmop_session_succession {
	/* The session that the new one takes over from, still open; NULL: none is. */
	struct vmop_session_file *before;
	const char *saved_as; /* the path that it gets; NULL: it is thrown away */
	/* Without `before`: the name that a finished session was kept under, or NULL; the caller's.
	 */
	char *kept;
};

/*
 * Makes dir's current.vmop out of `file`, which was begun under vmop_session_new_path(dir).  On an
 * error it is removed and closed, and everything else is as it was: `before` is open in its place
 * (or, if even that fails, closed; it lies where it was or under saved_as).
 */
struct vmop_error *vmop_session_file_publish(struct vmop_session_file *file, const char *dir,
					     struct vmop_session_succession *succession);

/* Closes and removes what was begun and is not in its place. */
void vmop_session_file_discard(struct vmop_session_file *file, const char *dir);

enum vmop_session_file_place {
	VMOP_SESSION_FILE_THERE,
	VMOP_SESSION_FILE_MOVED,   /* it has another name now */
	VMOP_SESSION_FILE_DELETED, /* no name at all */
};
/* Whether path still leads to file, which is in its place. */
enum vmop_session_file_place vmop_session_file_place(const struct vmop_session_file *file,
						     const char *path);

/* Closes db, as vmop_db_finish or, for a file that is not at its path any more, as vmop_db_abandon.
 */
struct vmop_error *vmop_session_file_finish(struct vmop_session_file *file);
struct vmop_error *vmop_session_file_abandon(struct vmop_session_file *file);
/* Stores what is true of the whole session; its end. */
struct vmop_error *vmop_session_file_put_facts(struct vmop_db *db, const struct vmop_setup *setup,
					       const char *source, uint64_t start_ns);
struct vmop_error *vmop_session_file_put_end(struct vmop_db *db);

/* Closes db without any of that. */
void vmop_session_file_close(struct vmop_session_file *file);

#endif
