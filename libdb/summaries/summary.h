// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Summaries: the sums of many intervals' chunks by place, task, stack and offset, beside these
 * chunks.  A reader that does not ask for times reads one summary of a day in the place of its 144
 * intervals of ten minutes, so that a month is reported within a second.
 *
 * A row of the table summary is like one of interval.  Its id is VMOP_SCHEMA_SUMMARY_MIN + first,
 * and its chunks have it in their ids.  [first, last] are the ids of its intervals.  Roll-ups can
 * merge intervals across its bounds, and retention deletes some.  It is valid only while the first
 * and the last interval in [first, last] begin and end with it: then every sample of it is in an
 * interval of this range, and in no other.
 */
#ifndef VMOP_LIBDB_SUMMARIES_SUMMARY_H
#define VMOP_LIBDB_SUMMARIES_SUMMARY_H

#include <stdint.h>

#include "libdb/connection.h"
#include "libdb/types.h"

struct vmop_summary {
	struct vmop_db_interval span; /* id is the summary's */
	uint32_t first, last;
};

/* Call `each` for every summary of the file, ascending by id.  Older versions have none. */
struct vmop_error *
vmop_summaries_each(struct vmop_db *db,
		    struct vmop_error *(*each)(void *arg, const struct vmop_summary *summary),
		    void *arg);

/*
 * Return whether the summary is valid: intervals are the n that exist, ascending by id.  Set
 * *ret_at and *ret_n to those that it covers.
 */
bool vmop_summary_is_valid(const struct vmop_summary *summary,
			   const struct vmop_db_interval *intervals, size_t n, size_t *ret_at,
			   size_t *ret_n);

/* Delete the summaries that cover an interval, as part of the open transaction. */
struct vmop_error *vmop_summaries_forget(struct vmop_db *db, uint32_t interval);

#endif
