// SPDX-License-Identifier: GPL-2.0-or-later
/* A side of a comparison: a query of its own, with its specs and sessions. */
#ifndef VMOP_OPREPORT_COMPARE_SIDE_H
#define VMOP_OPREPORT_COMPARE_SIDE_H

#include "opreport/arrange/session.h"
#include "opreport/query/query.h"
#include "opreport/query/spec.h"

/* The words of a side, such as "session:before" and "domain:host"; not owned. */
struct vmop_side_words {
	const char *const *items;
	size_t n;
};

struct vmop_side {
	char letter; /* 'A', 'B', ... */
	char *label; /* the words, joined by blanks, or as it is called; raw bytes */
	struct vmop_spec spec;
	struct vmop_sessions sessions; /* open from vmop_side_run to vmop_side_close */
	struct vmop_result result;
	double seconds; /* that the selected parts of its sessions cover together */
};

/*
 * Parse the specs of side number `index`: its own words, and the common ones.  A session of its own
 * replaces the common sessions.  archive is that of a side whose words name none; NULL: none.  The
 * caller deinitialises ret also after an error.
 */
struct vmop_error *vmop_side_init(struct vmop_side *ret, size_t index, const char *session_dir,
				  struct vmop_archive *archive,
				  const struct vmop_side_words *common,
				  const struct vmop_side_words *own);
void vmop_side_deinit(struct vmop_side *side);

/* Call the side by a label; NULL: by its words, as before. */
struct vmop_error *vmop_side_call(struct vmop_side *side, const char *label);

/*
 * Open the side's sessions and run the query.  An error names the side.  No selected sample is
 * VMOP_ERROR_NOT_FOUND.
 */
struct vmop_error *vmop_side_run(struct vmop_side *side, const struct vmop_query *query);

/* Close the sessions: the result does not need them. */
static inline void vmop_side_close(struct vmop_side *side)
{
	vmop_sessions_deinit(&side->sessions);
}

#endif
