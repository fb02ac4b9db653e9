// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The domains of a session on Xen.  dom0 is the host's domain, the hypervisor has one, and each
 * domU has one from its first sample until it is destroyed.  In the session of an active domU, this
 * domU is the host's domain, and the only other domain is the hypervisor's.
 *
 * Xen reuses the id of a domain only after 32,751 others.
 */
#ifndef VMOP_DAEMON_XEN_DOMAINS_H
#define VMOP_DAEMON_XEN_DOMAINS_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/guest/domain.h"
#include "hv-interface/source.h"

#define VMOP_XEN_IDS 0x7ff0u /* DOMID_FIRST_RESERVED of xen/xen.h: domains have lower ids */

struct vmop_xen_domains {
	struct vmop_domains *domains;	/* all domains of the session */
	struct vmop_domain *hypervisor; /* NULL: the source has no samples of it */
	struct vmop_domain *unknown; /* has the samples without an id; NULL: all samples have one */
	/* perf in dom0 samples: other domains have no samples, or are not distinguished. */
	bool is_by_perf;
	struct vmop_domain
		*by_id[VMOP_XEN_IDS]; /* the latest domain of that id, also after its end */
};

/*
 * Add the hypervisor's domain to domains, which must outlive *ret.  is_dom0: this machine is dom0;
 * else it is an active domU, and id 0 stands for it.
 */
struct vmop_error *vmop_xen_domains_create(struct vmop_domains *domains, bool is_dom0,
					   struct vmop_xen_domains **ret);
/* Do the same in a dom0 whose source is perf, which samples the domains of reach. */
struct vmop_error *vmop_xen_domains_create_for_perf(struct vmop_domains *domains,
						    enum vmop_source_reach reach,
						    struct vmop_xen_domains **ret);
void vmop_xen_domains_destroy(struct vmop_xen_domains *xen); /* NULL is allowed */

/*
 * Return the domain of Xen's id (0: the host), and add it if it is new, as "domain-N" until its
 * name is known.  NULL: no room, or the id is not valid.  For the per-sample path.
 */
struct vmop_domain *vmop_xen_domains_ensure(struct vmop_xen_domains *xen, uint32_t xen_id);

/*
 * Release the id of a domain that was destroyed, so that the next sample or listing of this id
 * adds another domain.  Call it only when the id is listed again: before that, late samples of the
 * destroyed domain can come.
 */
void vmop_xen_domains_forget(struct vmop_xen_domains *xen, uint32_t xen_id);

/* Return whether domain is a domU that Xen numbers. */
static inline bool vmop_domain_is_domu(const struct vmop_domain *domain)
{
	return domain->source_id != VMOP_NO_SOURCE_ID && domain->source_id != 0;
}

#endif
