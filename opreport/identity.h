// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Who is who, and who speaks for whom, where several sessions are read at once.
 *
 * A domain is the same in two sessions when it has the same UUID in both; a host without one when
 * its host name is the same; another domain without one when it is a domain of that name on the
 * same host.  The domain 0 of a guest's own session has the guest's UUID and so is the
 * guest that its host's session knows.
 *
 * What a domain's own session recorded is not counted again from another's.  Left out are
 *   - samples of a guest's code in other sessions than its own, at the times of its own;
 *   - all samples of a session at the times of one before it in the list that is of the same
 *     machine;
 * each for the events alone that the better session has, by name.
 */
#ifndef VMOP_OPREPORT_IDENTITY_H
#define VMOP_OPREPORT_IDENTITY_H

#include "libdb/db.h"
#include "opreport/catalog.h"

/* Fills name, is_host and row of all domains. */
struct vmop_error *vmop_domains_unify(struct vmop_catalog *catalog);

/*
 * What to leave out of a session, for its store's filter: *ret_n of them, the caller's to
 * free; NULL and 0: nothing.
 */
struct vmop_error *vmop_domains_omissions(const struct vmop_catalog *catalog, size_t session,
					  struct vmop_db_omission **ret, size_t *ret_n);

#endif
