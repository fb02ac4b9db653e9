// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/xen-domains.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/error.h"

/* The host is dom0 then; a domU knows itself as any machine does. */
static void be_dom0(struct vmop_domains *domains)
{
	struct vmop_domain *host = domains->at[VMOP_DOMAIN_ID_HOST];
	host->xen_id = 0;
	strcpy(host->name, "dom0");
	host->is_stored = false;
	domains->xen->is_dom0 = true;
	vmop_domains_keep_spares(domains);
}

static struct vmop_error *add_itself(struct vmop_domains *domains)
{
	struct vmop_domain *itself = vmop_domains_new(domains);
	if (!itself)
		return &vmop_error_no_memory;
	itself->kind = VMOP_DOMAIN_HYPERVISOR;
	strcpy(itself->name, "xen");
	itself->is_identified = true;
	/* Without symbols, offsets in it are addresses. */
	itself->kernel->kind = VMOP_IMAGE_HYPERVISOR;
	vmop_image_rename(itself->kernel, "[xen]");
	domains->xen->itself = itself;
	itself->symbols_from = "none: dom0 has them";
	return NULL;
}

static struct vmop_error *add_untold(struct vmop_domains *domains)
{
	struct vmop_domain *untold = vmop_domains_new(domains);
	if (!untold)
		return &vmop_error_no_memory;
	untold->kind = VMOP_DOMAIN_UNSAMPLED;
	strcpy(untold->name, VMOP_DOMAIN_SOME_NAME);
	untold->is_identified = true;
	untold->symbols_from = "none: which domain's address it is, is not known";
	untold->note = "perf in dom0 does not tell which domain these samples are of; without "
		       "dom0_vcpus_pin some are dom0's own";
	domains->xen->untold = untold;
	return NULL;
}

static struct vmop_error *create(struct vmop_domains *domains)
{
	domains->xen = calloc(1, sizeof(*domains->xen));
	if (!domains->xen)
		return &vmop_error_no_memory;
	domains->xen->by_id[0] = domains->at[VMOP_DOMAIN_ID_HOST];
	return NULL;
}

struct vmop_error *vmop_xen_domains_create(struct vmop_domains *domains, bool is_dom0)
{
	struct vmop_error *err = create(domains);
	if (!err)
		err = add_itself(domains);
	if (!err && is_dom0)
		be_dom0(domains);
	return err;
}

struct vmop_error *vmop_xen_domains_create_for_perf(struct vmop_domains *domains,
						    enum vmop_dom0_view view)
{
	struct vmop_error *err = create(domains);
	if (!err && (view == VMOP_DOM0_AND_XEN || view == VMOP_DOM0_AND_ALL))
		err = add_itself(domains);
	if (!err && view == VMOP_DOM0_AND_ALL)
		err = add_untold(domains);
	if (err)
		return err;
	domains->xen->is_by_perf = true;
	be_dom0(domains);
	return NULL;
}

void vmop_xen_domains_destroy(struct vmop_xen_domains *xen)
{
	free(xen);
}

struct vmop_domain *vmop_xen_domains_meet(struct vmop_domains *domains, uint32_t xen_id)
{
	if (domains->xen && xen_id == VMOP_SOURCE_DOMAIN_UNTOLD)
		return domains->xen->untold;
	if (!domains->xen || xen_id >= VMOP_XEN_IDS)
		return NULL;
	struct vmop_domain *domain = domains->xen->by_id[xen_id];
	if (domain)
		return domain;
	domain = vmop_domains_new(domains);
	if (!domain)
		return NULL;
	domain->xen_id = xen_id;
	snprintf(domain->name, sizeof(domain->name), "domain-%u", xen_id);
	vmop_domain_name_images(domain);
	vmop_domain_select(domains, domain);
	domains->xen->by_id[xen_id] = domain;
	return domain;
}

void vmop_xen_domains_forget(struct vmop_domains *domains, uint32_t xen_id)
{
	if (xen_id && xen_id < VMOP_XEN_IDS)
		domains->xen->by_id[xen_id] = NULL;
}
