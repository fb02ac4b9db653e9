// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Find which domains are the same one, within a session and in several, and which session covers
 * a domain's samples.
 *
 * Two domains of session files are the same one when they have the same UUID; a host without one
 * when its host name is the same; a guest without one when it is a guest of that name on the same
 * host, and no two guests of that name ever lived there at the same time.  Where two did, the
 * VMM's pid tells guests apart.  The domain 0 of a guest's own session has the guest's UUID and so
 * is the guest that its host's session knows.
 *
 * A guest that was shut down and started again is one domain with several lives.  A life is told by
 * the VMM's pid: the same pid in two sessions is the same life.
 *
 * What a domain's own session recorded is not counted again from another's.  Left out are
 *   - samples of a guest's code in other sessions than its own, at the times of its own;
 *   - all samples of a session at the times of one before it in the list that is of the same
 *     machine;
 * each for the events alone that the better session has, by name.
 */
#ifndef VMOP_OPREPORT_QUERY_IDENTITY_H
#define VMOP_OPREPORT_QUERY_IDENTITY_H

#include "libdb/db.h"
#include "opreport/query/catalog.h"

/* Fills name, is_host, row, and what concerns lives, of all domains. */
struct vmop_error *vmop_domains_unify(struct vmop_catalog *catalog);

/*
 * What to leave out of a session, for its store's filter: *ret_n of them, the caller's to
 * free, their lists the catalog's; NULL and 0: nothing.
 */
struct vmop_error *vmop_domains_omissions(struct vmop_catalog *catalog, size_t session,
					  struct vmop_db_omission **ret, size_t *ret_n);

#endif
