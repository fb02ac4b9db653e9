// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The clocks of guests whose own sessions are read beside those of their hosts. A guest's clock can
 * be wrong: after it was restored from a file, for instance. The host's session has its distance
 * from the host's clock (libdb/db.h, struct vmop_db_clock).
 */
#ifndef VMOP_OPREPORT_QUERY_GUEST_CLOCK_H
#define VMOP_OPREPORT_QUERY_GUEST_CLOCK_H

#include "libdb/db.h"

/*
 * Let the sessions of guests among n be read in the time of the hosts' sessions that have the
 * guests' clocks, and all others in their own time. An error does not name its session.
 */
struct vmop_error *vmop_guest_clocks_set(struct vmop_db *const *dbs, size_t n);

#endif
