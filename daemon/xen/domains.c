// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/xen/domains.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/error.h"

/* The host is dom0 here; a domU is the host of its own session, as any machine is. */
static void become_dom0(struct vmop_domains *domains)
{
	struct vmop_domain *host = domains->at[VMOP_DOMAIN_ID_HOST];
	host->source_id = 0;
	strcpy(host->name, "dom0");
	host->is_stored = false;
	vmop_domains_keep_spares(domains);
}

static struct vmop_error *add_itself(struct vmop_xen_domains *xen)
{
	struct vmop_domain *itself = vmop_domains_new(xen->domains);
	if (!itself)
		return &vmop_error_no_memory;
	itself->kind = VMOP_DOMAIN_HYPERVISOR;
	strcpy(itself->name, "xen");
	itself->is_identified = true;
	/* Without symbols, offsets in it are addresses. */
	itself->kernel->kind = VMOP_IMAGE_HYPERVISOR;
	vmop_image_rename(itself->kernel, "[xen]");
	xen->itself = itself;
	itself->symbols_from = "none: dom0 has them";
	return NULL;
}

static struct vmop_error *add_unknown(struct vmop_xen_domains *xen)
{
	struct vmop_domain *unknown = vmop_domains_new(xen->domains);
	if (!unknown)
		return &vmop_error_no_memory;
	unknown->kind = VMOP_DOMAIN_UNSAMPLED;
	strcpy(unknown->name, VMOP_DOMAIN_SOME_NAME);
	unknown->is_identified = true;
	unknown->is_several = true;
	unknown->symbols_from = "none: which domain's address it is, is not known";
	unknown->note = "perf in dom0 does not tell which domain these samples are of; without "
			"dom0_vcpus_pin some are dom0's own";
	xen->unknown = unknown;
	return NULL;
}

static struct vmop_error *create(struct vmop_domains *domains, struct vmop_xen_domains **ret)
{
	struct vmop_xen_domains *xen = calloc(1, sizeof(*xen));
	if (!xen)
		return &vmop_error_no_memory;
	xen->domains = domains;
	xen->by_id[0] = domains->at[VMOP_DOMAIN_ID_HOST];
	*ret = xen;
	return NULL;
}

struct vmop_error *vmop_xen_domains_create(struct vmop_domains *domains, bool is_dom0,
					   struct vmop_xen_domains **ret)
{
	struct vmop_error *err = create(domains, ret);
	if (!err)
		err = add_itself(*ret);
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
		err = add_itself(*ret);
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

struct vmop_domain *vmop_xen_domains_meet(struct vmop_xen_domains *xen, uint32_t xen_id)
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
	domain->source_id = xen_id;
	snprintf(domain->name, sizeof(domain->name), "domain-%u", xen_id);
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
