// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Xen's domains: dom0 is the host's domain, Xen itself one of its own, and each domU one from its
 * first sample until it is over.  In an active domU there are itself, the host's domain, and Xen.
 * Xen's numbers are not reused before 32,751 others were.
 */
#ifndef VMOP_DAEMON_XEN_DOMAINS_H
#define VMOP_DAEMON_XEN_DOMAINS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/guest/domain.h"
#include "hv-interface/source.h"

#define VMOP_XEN_IDS 0x7ff0u /* xen/xen.h, DOMID_FIRST_RESERVED: numbers below are domains */

struct vmop_xen_domains {
	struct vmop_domains *domains; /* all of the session */
	struct vmop_domain *itself;   /* NULL: samples can't be its own */
	struct vmop_domain *unknown;  /* owns samples without a number; NULL: each has one */
	/* perf in dom0 has the samples: of other domains none, or none that are told apart. */
	bool is_by_perf;
	struct vmop_domain
		*by_id[VMOP_XEN_IDS]; /* the latest of that number, also when it is over */
};

/*
 * Add Xen's own domain to domains, which must outlive *ret.  is_dom0: this machine is dom0, else
 * an active domU, whose number 0 is itself.
 */
struct vmop_error *vmop_xen_domains_create(struct vmop_domains *domains, bool is_dom0,
					   struct vmop_xen_domains **ret);
/* Do the same in a dom0 where perf is the source and reaches so much. */
struct vmop_error *vmop_xen_domains_create_for_perf(struct vmop_domains *domains,
						    enum vmop_source_reach reach,
						    struct vmop_xen_domains **ret);
void vmop_xen_domains_destroy(struct vmop_xen_domains *xen); /* NULL is allowed */

/*
 * The per-sample path: the domain that Xen calls xen_id (0: the host), new if need be, under the
 * name "domain-N" until it has a better one; NULL: no room, or there can't be such a number.
 */
struct vmop_domain *vmop_xen_domains_meet(struct vmop_xen_domains *xen, uint32_t xen_id);

/*
 * What is met under that number from now on is another domain.  Not before it is: samples of one
 * that was destroyed can still be under way.
 */
void vmop_xen_domains_forget(struct vmop_xen_domains *xen, uint32_t xen_id);

/* A domU, of which Xen gives the samples. */
static inline bool vmop_domain_is_domu(const struct vmop_domain *domain)
{
	return domain->source_id != VMOP_NO_SOURCE_ID && domain->source_id != 0;
}

#endif
