// SPDX-License-Identifier: GPL-2.0-or-later
/* Find, open and list session files. */
#ifndef VMOP_OPREPORT_ARRANGE_SESSION_H
#define VMOP_OPREPORT_ARRANGE_SESSION_H

#include "libdb/db.h"
#include "opreport/output/sheet.h"
#include "opreport/query/catalog.h"
#include "opreport/query/spec.h"

struct vmop_sessions {
	struct vmop_session_input *items; /* n; names belong to the spec, or are `newest` */
	size_t n;
	char *newest; /* name of the newest session; NULL: unused */
};

/*
 * Open the sessions that a spec names, else "current", else the session that was written last.  A
 * name is NAME.vmop in the session directory, or a path if it contains '/'.  For a missing session,
 * the error lists the existing ones and how to record one (VMOP_ERROR_CANT).  One file named twice
 * is VMOP_ERROR_USAGE.  The caller deinitialises ret also after an error.
 */
struct vmop_error *vmop_sessions_open(const struct vmop_spec *spec, struct vmop_sessions *ret);
void vmop_sessions_deinit(struct vmop_sessions *sessions);

/* The list of all sessions of the directory, a row each.  No session is VMOP_ERROR_NOT_FOUND. */
struct vmop_session_list;
struct vmop_error *vmop_session_list_create(const struct vmop_spec *spec,
					    struct vmop_session_list **ret);
void vmop_session_list_destroy(struct vmop_session_list *list);
const struct vmop_sheet *vmop_session_list_sheet(const struct vmop_session_list *list);

#endif
