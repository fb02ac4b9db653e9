// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Find which domains are the same one, within a session and in several, and which session covers
 * a domain's samples.
 *
 * Two domains are the same one if
 *   - they have the same UUID; or
 *   - both are hosts, one of them without a UUID, and have the same host name; or
 *   - both are guests without a UUID, with one name and on one host, where no two guests of that
 *     name ran at the same time.  If two did, the VMM's pid distinguishes them.
 * Domain 0 of a guest's own session has the guest's UUID, so it is the guest of its host's session.
 *
 * A guest that was shut down and started again is one domain with several lives.  The VMM's pid
 * identifies a life: the same pid in two sessions is the same life.
 *
 * Samples that a better session has are counted once only.  The omissions are
 *   - samples of a guest's code in other sessions, during the guest's own session;
 *   - all samples of a session, during an earlier one in the list that is of the same machine.
 * An omission covers only the events that the better session has, compared by name.
 */
#ifndef VMOP_OPREPORT_QUERY_IDENTITY_H
#define VMOP_OPREPORT_QUERY_IDENTITY_H

#include "libdb/db.h"
#include "opreport/query/catalog.h"

/* Set name, is_host, is_unsampled, row, and the fields of lives, of all domains. */
struct vmop_error *vmop_domains_unify(struct vmop_catalog *catalog);

/*
 * Set *ret to the *ret_n omissions of a session, for its store's filter; NULL and 0 for none.  The
 * caller frees *ret; the lists within belong to the catalog.
 */
struct vmop_error *vmop_domains_omissions(struct vmop_catalog *catalog, size_t session,
					  struct vmop_db_omission **ret, size_t *ret_n);

#endif
