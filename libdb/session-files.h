// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The session files of a session directory.  "current.vmop" is the session that a daemon writes, or
 * wrote last.  The others are "NAME.vmop", named by a user or by their start
 * (20261121T010203.vmop, UTC).  Saving and keeping never overwrite a session.  They first complete
 * the file of a killed daemon, and move a file that can't be read as it is.
 *
 * "NAME~GUEST.vmop" is the session of an active guest, which the daemon fetched for the session
 * NAME. It has each later name of NAME, and is removed with it.
 *
 * Callers: vmopd and vmopcontrol.  What changes the current session is called only while no daemon
 * writes it.
 */
#ifndef VMOP_LIBDB_SESSION_FILES_H
#define VMOP_LIBDB_SESSION_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "libutil/error.h"

struct vmop_db;

#define VMOP_SESSION_CURRENT "current"
#define VMOP_SESSION_SUFFIX ".vmop"

#define VMOP_SESSION_GUEST_MARK '~' /* in no name that a user may give */

/* Return "<dir>/<name>.vmop", which the caller frees; NULL: out of memory. */
char *vmop_session_path(const char *dir, const char *name);

/*
 * Return the file name of the session of a guest that belongs to the current session: the guest's
 * name in it is cut, and has a '_' for each character that a session's name cannot have. The caller
 * frees it; NULL: out of memory.
 */
char *vmop_session_guest_file(const char *guest);

/*
 * Return the file name that the session of a guest has beside the session at path, NAME.vmop, if it
 * has guest_file (vmop_session_guest_file) beside the current one. The caller frees it; NULL: out
 * of memory.
 */
char *vmop_session_guest_file_beside(const char *path, const char *guest_file);

/*
 * Return "<dir>/current.vmop.new", which the caller frees; NULL: out of memory.  A new session
 * begins in this file, and then replaces the previous one.  A file that is already there
 * is of a daemon that was killed in between, and has no samples.
 */
char *vmop_session_new_path(const char *dir);

/*
 * Return "<dir>/current.vmop.discarded", which the caller frees; NULL: out of memory.  A session
 * whose samples are discarded is moved there, with those of its guests
 * (current.vmop.discarded~GUEST.vmop), and then removed.
 */
char *vmop_session_discarded_path(const char *dir);

/* Remove the file at path and SQLite's files beside it.  No error if there are none. */
struct vmop_error *vmop_session_remove(const char *path);

/*
 * Rename the session `from`, with SQLite's files beside it, to `to` in the same directory.  It may
 * be open: vmop_db_renamed.  The file system must have hard links.  VMOP_ERROR_CANT: `to` exists.
 * After an error nothing is renamed.
 */
struct vmop_error *vmop_session_move(const char *from, const char *to);

/*
 * Set the first entries of ret_pids, which has room for max, to the processes other than this one
 * that hold a snapshot of the open session at path. Return their number. Processes outside this
 * one's PID namespace are not found.
 */
size_t vmop_session_readers(const char *path, pid_t *ret_pids, size_t max);

/* Sync the directory `dir`, so that a power cut undoes no rename. */
struct vmop_error *vmop_session_sync_dir(const char *dir);

/* Check the name of a session.  VMOP_ERROR_USAGE lists the allowed characters. */
struct vmop_error *vmop_session_check_name(const char *name);

/* Make the session directory `dir`, 0755, if it is missing; its parent must be there. */
struct vmop_error *vmop_session_make_dir(const char *dir);

/*
 * Create a session file with permissions `mode` at vmop_session_new_path(dir).  Removes a file that
 * an earlier start left there, and a discarded one.  The caller owns *ret.
 */
struct vmop_error *vmop_session_create(const char *dir, mode_t mode, struct vmop_db **ret);

/*
 * Remove second names of a session's files, which a kill in vmop_session_move left beside no
 * session. No other thread or process may move a session meanwhile.  One that cannot be removed
 * stays.
 */
void vmop_session_remove_second_names(const char *dir);

/* Rename dir's current session to name.  VMOP_ERROR_NOT_FOUND: no session; _CANT: name exists. */
struct vmop_error *vmop_session_save(const char *dir, const char *name);

/*
 * Rename dir's current session, if there is one, after its start, so that a new session can begin.
 * The caller frees *ret_name, the new name or NULL.  Removes an empty file, which a killed daemon
 * can leave.
 */
struct vmop_error *vmop_session_keep(const char *dir, char **ret_name);

/*
 * Set *ret to a name after the time start_ns (CLOCK_REALTIME) that no session in dir has.  The
 * caller frees it.
 */
struct vmop_error *vmop_session_free_name(const char *dir, uint64_t start_ns, char **ret);

/* Return whether the name is one that vmop_session_free_name gives: 20261121T010203, ...-2. */
bool vmop_session_name_is_time(const char *name);

/*
 * Remove the saved session `name` of dir with SQLite's files beside it.  The current session is
 * refused (VMOP_ERROR_USAGE).  VMOP_ERROR_NOT_FOUND: no such session; VMOP_ERROR_CANT: it is no
 * regular file.  No path is followed: dir is opened safely, and name has no slash.
 */
struct vmop_error *vmop_session_delete(const char *dir, const char *name);

/*
 * Remove sessions of dir that have the name of their time: those written last before before_ns
 * (CLOCK_REALTIME; 0: none), then the oldest while all sessions of dir together take more than
 * max_bytes (UINT64_MAX: no bound).  Sessions that a user named, and the current one, stay.
 * *ret_n is the number of removed ones.
 */
struct vmop_error *vmop_session_expire(const char *dir, uint64_t before_ns, uint64_t max_bytes,
				       unsigned *ret_n);

/*
 * Move the WALs of dir's saved sessions into them, as vmop_db_recover. One that a reader has open
 * stays as it is; *ret_is_left is then true.
 */
struct vmop_error *vmop_session_complete_all(const char *dir, bool *ret_is_left);

/* A session of a directory. */
struct vmop_session_entry {
	char *name;		 /* without suffix; the file system's bytes */
	struct timespec written; /* last, CLOCK_REALTIME */
	uint64_t disk_bytes;	 /* of the file and its WAL */
};

struct vmop_session_entries {
	struct vmop_session_entry *items; /* ascending by time written */
	size_t n, capacity;
};

/* List the sessions of dir: its regular files that are named so.  The caller deinits *ret. */
struct vmop_error *vmop_session_entries_read(const char *dir, struct vmop_session_entries *ret);
void vmop_session_entries_deinit(struct vmop_session_entries *list);

/* Remove dir's current session.  VMOP_ERROR_NOT_FOUND: no session. */
struct vmop_error *vmop_session_discard(const char *dir);

#endif
