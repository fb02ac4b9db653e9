// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Xen's domains: dom0 is the host's domain, Xen itself one of its own, and each domU one from its
 * first sample until it is over.  Xen's numbers are not reused before 32,751 others were.
 */
#ifndef VMOP_DAEMON_XEN_DOMAINS_H
#define VMOP_DAEMON_XEN_DOMAINS_H

#include <stdint.h>

#include "daemon/domain.h"

#define VMOP_XEN_IDS 0x7ff0u /* DOMID_FIRST_RESERVED: numbers below are domains */

struct vmop_xen_domains {
	struct vmop_domain *itself;
	struct vmop_domain *by_id[VMOP_XEN_IDS];
};

struct vmop_source;

/*
 * From now on samples are of Xen's domains; before the first one.  Tells source which
 * ones to sample, by --passive-domains.  VMOP_ERROR_USAGE: one of them doesn't exist, or there
 * are more than Xen takes.
 */
struct vmop_error *vmop_xen_domains_create(struct vmop_domains *domains,
					   struct vmop_source *source);
void vmop_xen_domains_destroy(struct vmop_xen_domains *xen); /* NULL is allowed */

/*
 * The per-sample path: the domain that Xen calls xen_id (0: the host), new if need be, under the
 * name "domain-N" until it has a better one; NULL: no room, or there can't be such a number.
 */
struct vmop_domain *vmop_xen_domains_meet(struct vmop_domains *domains, uint32_t xen_id);

/* It was destroyed: that number's next samples are another domain's. */
void vmop_xen_domains_gone(struct vmop_domains *domains, uint32_t xen_id);

#endif
