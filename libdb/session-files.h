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

/* Whether name can be given to a session. VMOP_ERROR_USAGE says what can. */
struct vmop_error *vmop_session_check_name(const char *name);

/* Make the session directory `dir`, 0755, if it is missing; its parent must be there. */
struct vmop_error *vmop_session_make_dir(const char *dir);

/* Begin dir's current session in a file of that mode, which must not exist yet. */
struct vmop_error *vmop_session_create(const char *dir, mode_t mode, struct vmop_db **ret);

/* dir's current session becomes name. VMOP_ERROR_NOT_FOUND: there is none; _CANT: name is taken. */
struct vmop_error *vmop_session_save(const char *dir, const char *name);

/*
 * dir's current session, if there is one, is named after its start to make room.
 * *ret_name is the name, or NULL; the caller's.
 */
struct vmop_error *vmop_session_keep(const char *dir, char **ret_name);

/* Removes dir's current session. VMOP_ERROR_NOT_FOUND: there is none. */
struct vmop_error *vmop_session_discard(const char *dir);

#endif
