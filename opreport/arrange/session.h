// SPDX-License-Identifier: GPL-2.0-or-later
/* Find, open and list session files. */
#ifndef VMOP_OPREPORT_ARRANGE_SESSION_H
#define VMOP_OPREPORT_ARRANGE_SESSION_H

#include "libdb/db.h"
#include "opreport/output/sheet.h"
#include "opreport/query/catalog.h"
#include "opreport/query/spec.h"

struct vmop_sessions {
	struct vmop_session_input *items; /* n; their names are in `names` */
	size_t n;
	struct vmop_words names;
};

/*
 * Open the sessions that a spec names.  A name is NAME.vmop in the session directory, or a path if
 * it contains '/', or "all": the sessions of the directory, in the order of time.  A spec without
 * sessions is of all that overlap its time, if that does not depend on a session; else, or if none
 * does, of "current", or the session that was written last.
 *
 * For a missing session, the error lists the existing ones and how to record one (VMOP_ERROR_CANT).
 * With a session that is named without '/', the sessions of its active guests are opened, which
 * vmopd fetched beside it. One of them that cannot be read is left out with a warning.
 *
 * One file named twice is VMOP_ERROR_USAGE, unless "all" has it.  The caller deinitialises ret also
 * after an error.
 */
struct vmop_error *vmop_sessions_open(const struct vmop_spec *spec, struct vmop_sessions *ret);
void vmop_sessions_deinit(struct vmop_sessions *sessions);

/*
 * Set *ret to the path of the file of a session with such a name, except "all". In an archive, a
 * path is the one where the session was. The caller frees *ret.
 */
struct vmop_error *vmop_session_find(const struct vmop_spec *spec, const char *name, char **ret);

/* The list of all sessions of the directory, a row each.  No session is VMOP_ERROR_NOT_FOUND. */
struct vmop_session_list;
struct vmop_error *vmop_session_list_create(const struct vmop_spec *spec,
					    struct vmop_session_list **ret);
void vmop_session_list_destroy(struct vmop_session_list *list);
const struct vmop_sheet *vmop_session_list_sheet(const struct vmop_session_list *list);

#endif
