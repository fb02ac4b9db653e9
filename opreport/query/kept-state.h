// SPDX-License-Identifier: GPL-2.0-or-later
/* The session of kept sums (kept-sums.h), and the intervals that they cover. */
#ifndef VMOP_OPREPORT_QUERY_KEPT_STATE_H
#define VMOP_OPREPORT_QUERY_KEPT_STATE_H

#include <stdbool.h>
#include <sys/stat.h>

#include "libdb/db.h"
#include "libutil/error.h"
#include "opreport/query/catalog.h"
#include "opreport/query/kept-file.h"

/* The name of a session's file in the cache, with its NUL. */
#define VMOP_KEPT_NAME_BYTES 40

/*
 * Set state->session. Set the file's facts, too, if the session has ended, or if the file system
 * does not record when a file was made: a removed session could have had the same inode. file is of
 * the session as it is read. Return false without file or without a start: nothing then
 * distinguishes the session from others.
 */
bool vmop_kept_state_identify(const struct vmop_session_facts *facts, const struct statx *file,
			      struct vmop_kept_state *state);

void vmop_kept_state_name(const struct vmop_kept_state *state, char ret[VMOP_KEPT_NAME_BYTES]);

/* Return whether kept sums are of this session, and of this state of its file if it had ended. */
bool vmop_kept_state_is_same_file(const struct vmop_kept_state *kept,
				  const struct vmop_kept_state *now);

/*
 * Set the span of now to all intervals of the session, and *ret_is_same to whether the intervals
 * that kept sums cover still begin and end where they did. kept->last is 0 if nothing is kept. Set
 * now->session to {0, 0} if its sums can't be kept: without intervals, or with damaged ids.
 */
struct vmop_error *vmop_kept_state_read_span(struct vmop_db *db, const struct vmop_kept_state *kept,
					     struct vmop_kept_state *now, bool *ret_is_same);

/*
 * Return whether a change of the file of an ended session that is made after now_ns
 * (CLOCK_REALTIME) shows in its times.
 */
bool vmop_kept_state_is_settled(const struct vmop_kept_state *state, uint64_t now_ns);

#endif
