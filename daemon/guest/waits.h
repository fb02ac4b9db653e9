// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The time of guests' vCPUs in the session: watches the threads of all running guests, and stores
 * with each interval how their sums have grown.
 *
 * Caller: daemon/profile/flush.c, on the sampling thread.
 */
#ifndef VMOP_DAEMON_GUEST_WAITS_H
#define VMOP_DAEMON_GUEST_WAITS_H

#include "daemon/guest/domain.h"
#include "hv-interface/bpf/waits.h"
#include "libdb/db.h"

struct vmop_guest_waits;

/*
 * Begin to divide the time of vCPUs. domains must outlive *ret. VMOP_ERROR_CANT: this machine does
 * not permit it.
 */
struct vmop_error *vmop_guest_waits_create(struct vmop_domains *domains,
					   struct vmop_guest_waits **ret);
void vmop_guest_waits_destroy(struct vmop_guest_waits *waits); /* NULL is allowed */

/*
 * Watch guests that came, and take the growth of the sums. Marks the images of exits' places as
 * sampled, so that they are stored. While the last amounts are not stored yet, nothing is taken.
 */
void vmop_guest_waits_gather(struct vmop_guest_waits *waits);

/* Store the amounts in the open interval, after the domains and images. */
struct vmop_error *vmop_guest_waits_store(struct vmop_guest_waits *waits, struct vmop_db *db);
/* Forget the amounts: the interval is committed. */
void vmop_guest_waits_stored(struct vmop_guest_waits *waits);

/* Return why exits are not counted, or NULL: they are. */
const char *vmop_guest_waits_no_exits(const struct vmop_guest_waits *waits);
void vmop_guest_waits_facts(const struct vmop_guest_waits *waits, struct vmop_waits_facts *ret);

#endif
