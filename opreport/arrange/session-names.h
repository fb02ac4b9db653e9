// SPDX-License-Identifier: GPL-2.0-or-later
/* The names of the sessions in a directory. */
#ifndef VMOP_OPREPORT_ARRANGE_SESSION_NAMES_H
#define VMOP_OPREPORT_ARRANGE_SESSION_NAMES_H

#include "opreport/query/spec.h"
#include "opreport/query/time-window.h"

#define VMOP_SESSION_FILE_SUFFIX ".vmop"

/*
 * Between the name of a session and that of an active guest, in the name of the guest's own
 * session (libdb/session-files.h).
 */
#define VMOP_GUEST_SESSION_MARK '~'

/* The word of session: for all sessions of the directory. */
#define VMOP_ALL_SESSIONS "all"

/* Append the names of dir's sessions, NAME of NAME.vmop, in alphabetical order. */
struct vmop_error *vmop_session_names_list(const char *dir, struct vmop_words *ret);

/*
 * Append the names of the sessions that dir has of the active guests of session `name`. A directory
 * that cannot be read has none.
 */
struct vmop_error *vmop_session_names_of_guests(const char *dir, const char *name,
						struct vmop_words *ret);

/*
 * Append the names of dir's sessions in the order in which they began, without those that lie
 * outside of an absolute window.  A session that cannot be read is left out with a warning.  More
 * than VMOP_SESSIONS_MAX are VMOP_ERROR_USAGE.
 */
struct vmop_error *vmop_session_names_in(const char *dir, const struct vmop_time_window *window,
					 struct vmop_words *ret);

#endif
