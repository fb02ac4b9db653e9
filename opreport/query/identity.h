// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Find which domains are the same one, within a session and in several.
 *
 * Two domains are the same one if
 *   - they have the same UUID; or
 *   - both are hosts, one of them without a UUID, and have the same host name; or
 *   - both are guests without a UUID, with one name and on one host, where no two guests of that
 *     name ran at the same time.  If two did, the VMM's pid distinguishes them.
 * Domain 0 of a guest's own session has the guest's UUID, so it is the guest of its host's session.
 *
 * A guest that another guest ran, and that only the latter's own session has, is named after both:
 * "web1/inner".
 *
 * A guest that was shut down and started again is one domain with several lives.  The VMM's pid
 * identifies a life: the same pid in two sessions is the same life.
 */
#ifndef VMOP_OPREPORT_QUERY_IDENTITY_H
#define VMOP_OPREPORT_QUERY_IDENTITY_H

#include "libdb/db.h"
#include "opreport/query/catalog.h"

/* Set name, is_host, is_unsampled, row, and the fields of lives, of all domains. */
struct vmop_error *vmop_domains_unify(struct vmop_catalog *catalog);

#endif
