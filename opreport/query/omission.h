// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Find the samples that a report of several sessions leaves out, so that each counts once:
 *   - samples of a guest's code in other sessions, during the guest's own session;
 *   - intervals of a session that overlap those of another session of the same machine: overlap.h.
 * Both are only left out for the events that the other session has, compared by name.
 */
#ifndef VMOP_OPREPORT_QUERY_OMISSION_H
#define VMOP_OPREPORT_QUERY_OMISSION_H

#include "libdb/db.h"
#include "opreport/query/catalog.h"

/* The omissions of one session, for its store's filter. */
struct vmop_omissions {
	struct vmop_db_omission *items; /* n; the lists within belong to the catalog */
	size_t n, capacity;
};

/*
 * Omissions of one session that are exact: each row of its store is compared with all of them.
 * Beyond, one range covers the rest.
 */
#define VMOP_OMISSIONS_MAX 512

/*
 * Append the omissions of each session to ret[0..n_sessions), which the caller frees with
 * vmop_omissions_deinit, also after an error.
 */
struct vmop_error *vmop_omissions_find(struct vmop_catalog *catalog, struct vmop_omissions *ret);

/* Return whether a session's filter omits all of its events in all of its intervals. */
bool vmop_omissions_cover(const struct vmop_catalog *catalog, size_t session,
			  const struct vmop_db_filter *filter);
void vmop_omissions_deinit(struct vmop_omissions *omissions);

#endif
