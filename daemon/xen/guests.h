// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Follows the domUs of a session in dom0: reads them from xenstore, selects the passive and active
 * ones, and sets these in the source.
 *
 * Xen's id identifies a domain while it lives.  A domain that is created again has another id with
 * the same name and uuid, and is another domain of the session, as a restarted VMM is.
 */
#ifndef VMOP_DAEMON_XEN_GUESTS_H
#define VMOP_DAEMON_XEN_GUESTS_H

#include "daemon/guest/domain.h"
#include "hv-interface/source.h"
#include "libutil/error.h"

struct vmop_xen_domains;
struct vmop_xen_guests;

/*
 * The capacity of Xen's lists of either kind (MAX_OPROF_DOMAINS, xen/xenoprof.h).  dom0 has an
 * entry in the active one.
 */
#define VMOP_XEN_PASSIVE_MAX 25
#define VMOP_XEN_ACTIVE_MAX 24

/*
 * Add the domains that run, select among them, and set the selected ones in the source.  active may
 * be empty.  VMOP_ERROR_USAGE: a pattern matches no domain that runs (the message lists those), or
 * more domains are named than Xen samples.  Where xenstored does not answer, domains go by their
 * ids, only domains named by id are sampled, and a warning is logged.  All arguments must outlive
 * *ret.
 */
struct vmop_error *vmop_xen_guests_create(struct vmop_xen_domains *xen,
					  const struct vmop_domain_patterns *active,
					  struct vmop_source *source, struct vmop_xen_guests **ret);
void vmop_xen_guests_destroy(struct vmop_xen_guests *guests); /* NULL is allowed */

/*
 * Follow domains that came, went or were renamed, and set the selected ones in the source.  Call it
 * about once a second.  An error is one line for the operator; the rest is done all the same.
 */
struct vmop_error *vmop_xen_guests_tick(struct vmop_xen_guests *guests);

#endif
