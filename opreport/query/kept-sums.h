// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sums of a session's samples by symbol, kept in the user's cache for the next report, which then
 * reads only the intervals that are newer.  Its time does not depend on the session's length.
 *
 * A report that may use them adds up all pieces twice: first by place and symbol, then these sums
 * by its rows.  The first sums are kept, so that a report with them and one without them
 * go the same way.
 *
 * Kept sums are believed if
 *   - they are of this session: device, inode and birth of its file, start, host and kernel;
 *   - the intervals that they cover still begin and end where they did (summary.h has the same
 *     rule): roll-ups move samples within them, and retention changes their start;
 *   - the file is unchanged, by size and times, if the session had ended (kept-state.h);
 *   - each image has the symbol table by whose runs its cells were added up.
 * Cells of the host's kernel, whose sampled symbols grow with the session, keep their offsets.
 * While generated code gets new names, each report walks over the whole session.
 */
#ifndef VMOP_OPREPORT_QUERY_KEPT_SUMS_H
#define VMOP_OPREPORT_QUERY_KEPT_SUMS_H

#include <stdbool.h>

#include "libdb/db.h"
#include "libutil/error.h"

struct vmop_kept_sums;
struct vmop_symbol;
struct vmop_query_walk;

/*
 * Fewer cells than these, read from the session, are not worth a file; nor is less than a quarter
 * of all sums.
 */
#define VMOP_KEPT_MIN_CELLS 4096

/*
 * Return whether the samples of a walk by pieces can come from kept sums: the filter and the
 * query's dimensions have to leave places whole.
 */
bool vmop_kept_sums_suit(const struct vmop_query_walk *walk, const struct vmop_db_filter *filter);

/*
 * Pass the session's samples to vmop_query_take_piece: the kept ones, then those of newer
 * intervals.  Keep the sums for the next report if that is worth it.  *ret_done is false if the
 * session has to be walked without them; then nothing was passed.  result->kept owns what the
 * symbol tables refer to.
 */
struct vmop_error *vmop_kept_sums_walk(struct vmop_query_walk *walk, struct vmop_db *db,
				       const struct vmop_db_filter *filter, bool *ret_done);

/*
 * Return the name to show of a symbol that the runs of a session's file have, or NULL. It is what
 * vmop_symbols_name() returns, without a search.
 */
const char *vmop_kept_sums_name(const struct vmop_kept_sums *sums,
				const struct vmop_symbol *symbol); /* sums: NULL is allowed */

/* Free the sums of all sessions, after the symbols. */
void vmop_kept_sums_destroy(struct vmop_kept_sums *sums); /* NULL is allowed */

#endif
