// SPDX-License-Identifier: GPL-2.0-or-later
/* Where session files are, which there are, and opening the one a spec names. */
#ifndef VMOP_OPREPORT_ARRANGE_SESSION_H
#define VMOP_OPREPORT_ARRANGE_SESSION_H

#include "libdb/db.h"
#include "opreport/output/sheet.h"
#include "opreport/query/catalog.h"
#include "opreport/query/spec.h"

struct vmop_sessions {
	struct vmop_session_input *items; /* n; the names are the spec's, or newest */
	size_t n;
	char *newest; /* NULL: not looked for */
};

/*
 * Opens the sessions that a spec names, else "current", else the one that was written last:
 * NAME.vmop in the session directory, or a path (anything with a '/').  Where there is none, the
 * error says which there are and how one is made.  One file named twice is VMOP_ERROR_USAGE.  ret
 * is deinitialised by the caller also after an error.
 */
struct vmop_error *vmop_sessions_open(const struct vmop_spec *spec, struct vmop_sessions *ret);
void vmop_sessions_deinit(struct vmop_sessions *sessions);

/* Every session of the directory, a row each. None: VMOP_ERROR_NOT_FOUND. */
struct vmop_session_list;
struct vmop_error *vmop_session_list_create(const struct vmop_spec *spec,
					    struct vmop_session_list **ret);
void vmop_session_list_destroy(struct vmop_session_list *list);
const struct vmop_sheet *vmop_session_list_sheet(const struct vmop_session_list *list);

#endif
