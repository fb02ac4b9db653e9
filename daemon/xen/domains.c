// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/xen/domains.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/error.h"

/* Make the host's domain dom0.  In the session of a domU, the domU is the host and stays so. */
static void become_dom0(struct vmop_domains *domains)
{
	struct vmop_domain *host = domains->at[VMOP_DOMAIN_ID_HOST.number];
	vmop_domain_set_source_id(host, 0);
	vmop_domain_set_name(host, "dom0");
	vmop_domains_keep_spares(domains);
}

static struct vmop_error *add_hypervisor(struct vmop_xen_domains *xen)
{
	struct vmop_domain *hypervisor = vmop_domains_new(xen->domains);
	if (!hypervisor)
		return &vmop_error_no_memory;
	vmop_domain_set_kind(hypervisor, VMOP_DOMAIN_HYPERVISOR);
	vmop_domain_set_name(hypervisor, "xen");
	vmop_domain_set_identified(hypervisor, true);
	/* The image for code without symbols: offsets in it are addresses. */
	hypervisor->kernel->kind = VMOP_IMAGE_HYPERVISOR;
	vmop_image_rename(hypervisor->kernel, "[xen]");
	xen->hypervisor = hypervisor;
	vmop_domain_set_symbols_from(hypervisor, "none: dom0 has them");
	return NULL;
}

static struct vmop_error *add_unknown(struct vmop_xen_domains *xen)
{
	struct vmop_domain *unknown = vmop_domains_new(xen->domains);
	if (!unknown)
		return &vmop_error_no_memory;
	vmop_domain_set_kind(unknown, VMOP_DOMAIN_UNSAMPLED);
	vmop_domain_set_name(unknown, VMOP_DOMAIN_SOME_NAME);
	vmop_domain_set_identified(unknown, true);
	vmop_domain_set_several(unknown);
	vmop_domain_set_symbols_from(unknown, "none: the domain of an address is not known");
	vmop_domain_set_note(unknown,
			     "perf in dom0 does not report the domain of these samples; without "
			     "dom0_vcpus_pin some are dom0's own");
	xen->unknown = unknown;
	return NULL;
}

static struct vmop_error *create(struct vmop_domains *domains, struct vmop_xen_domains **ret)
{
	struct vmop_xen_domains *xen = calloc(1, sizeof(*xen));
	if (!xen)
		return &vmop_error_no_memory;
	xen->domains = domains;
	xen->by_id[0] = domains->at[VMOP_DOMAIN_ID_HOST.number];
	*ret = xen;
	return NULL;
}

struct vmop_error *vmop_xen_domains_create(struct vmop_domains *domains, bool is_dom0,
					   struct vmop_xen_domains **ret)
{
	struct vmop_error *err = create(domains, ret);
	if (!err)
		err = add_hypervisor(*ret);
	if (!err && is_dom0)
		become_dom0(domains);
	return err;
}

struct vmop_error *vmop_xen_domains_create_for_perf(struct vmop_domains *domains,
						    enum vmop_source_reach reach,
						    struct vmop_xen_domains **ret)
{
	struct vmop_error *err = create(domains, ret);
	if (!err && (reach == VMOP_REACH_OWN_AND_HYPERVISOR || reach == VMOP_REACH_UNDIVIDED))
		err = add_hypervisor(*ret);
	if (!err && reach == VMOP_REACH_UNDIVIDED)
		err = add_unknown(*ret);
	if (err)
		return err;
	(*ret)->is_by_perf = true;
	become_dom0(domains);
	return NULL;
}

void vmop_xen_domains_destroy(struct vmop_xen_domains *xen)
{
	free(xen);
}

struct vmop_domain *vmop_xen_domains_ensure(struct vmop_xen_domains *xen, uint32_t xen_id)
{
	if (xen_id == VMOP_SOURCE_DOMAIN_UNKNOWN)
		return xen->unknown;
	if (xen_id >= VMOP_XEN_IDS)
		return NULL;
	struct vmop_domain *domain = xen->by_id[xen_id];
	if (domain)
		return domain;
	domain = vmop_domains_new(xen->domains);
	if (!domain)
		return NULL;
	char name[32];
	snprintf(name, sizeof(name), "domain-%u", xen_id);
	vmop_domain_set_source_id(domain, xen_id);
	vmop_domain_set_name(domain, name);
	vmop_domain_name_images(domain);
	vmop_domain_select(xen->domains, domain);
	xen->by_id[xen_id] = domain;
	return domain;
}

void vmop_xen_domains_forget(struct vmop_xen_domains *xen, uint32_t xen_id)
{
	if (xen_id && xen_id < VMOP_XEN_IDS)
		xen->by_id[xen_id] = NULL;
}
