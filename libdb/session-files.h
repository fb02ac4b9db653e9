// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The session files of a session directory: "current.vmop" is written, or was
 * written last; the others are "NAME.vmop", under a name that somebody gave or
 * under their start (20261121T010203.vmop, UTC).  Nothing here ever overwrites a
 * session.  What a killed daemon left is completed first; a file that can't be read
 * is moved as it is.
 *
 * To be called only while no daemon writes dir/current.vmop.
 */
#ifndef VMOP_LIBDB_SESSION_FILES_H
#define VMOP_LIBDB_SESSION_FILES_H

#include <stdbool.h>
#include <sys/types.h>

#include "libutil/error.h"

struct vmop_db;

#define VMOP_SESSION_CURRENT "current"
#define VMOP_SESSION_SUFFIX ".vmop"

/* "<dir>/<name>.vmop"; NULL: out of memory. The caller frees. */
char *vmop_session_path(const char *dir, const char *name);

/*
 * "<dir>/current.vmop.new", where a session is begun before it takes the place of the one before;
 * what is there is left by a daemon that was killed meanwhile, and has no samples.
 */
char *vmop_session_new_path(const char *dir);

/* Removes the file at path and what SQLite keeps beside it. None there: no error. */
struct vmop_error *vmop_session_remove(const char *path);

/*
 * The file at from, with what is beside it, becomes to.  VMOP_ERROR_CANT: to is taken.  On an error
 * nothing was renamed.
 */
struct vmop_error *vmop_session_move(const char *from, const char *to);

/* The same where to is to be overwritten, at once; what is beside it is removed before. */
struct vmop_error *vmop_session_replace(const char *from, const char *to);

/* Whether name can be given to a session. VMOP_ERROR_USAGE says what can. */
struct vmop_error *vmop_session_check_name(const char *name);

/* Make the session directory `dir`, 0755, if it is missing; its parent must be there. */
struct vmop_error *vmop_session_make_dir(const char *dir);

/*
 * Begin a session in a file of that mode under vmop_session_new_path(dir).  Whatever an earlier
 * start left there is removed.
 */
struct vmop_error *vmop_session_create(const char *dir, mode_t mode, struct vmop_db **ret);

/* dir's current session becomes name. VMOP_ERROR_NOT_FOUND: there is none; _CANT: name is taken. */
struct vmop_error *vmop_session_save(const char *dir, const char *name);

/*
 * dir's current session, if there is one, is named after its start to make room.
 * *ret_name is the name, or NULL; the caller's.  An empty file, which a daemon that was killed
 * can have left, is removed.
 */
struct vmop_error *vmop_session_keep(const char *dir, char **ret_name);

/* Removes dir's current session. VMOP_ERROR_NOT_FOUND: there is none. */
struct vmop_error *vmop_session_discard(const char *dir);

#endif
