// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/xen-domains.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hv-interface/source.h"
#include "libutil/parse.h"

static void name_images(struct vmop_domain *domain)
{
	char name[VMOP_GUEST_NAME_BYTES + 32];
	snprintf(name, sizeof(name), "[guest %s kernel]", domain->name);
	vmop_image_rename(domain->kernel, name);
	snprintf(name, sizeof(name), "[guest %s user]", domain->name);
	vmop_image_rename(domain->user, name);
}

/* By the numbers among the patterns. */
static size_t choose(const struct vmop_passive *passive, struct vmop_source_domain *ret, size_t max)
{
	size_t n = 0;
	for (size_t i = 0; i < passive->n && n < max; i++) {
		uint64_t id;
		if (vmop_parse_u64(passive->patterns[i].text, 10, &id) && id < VMOP_XEN_IDS)
			ret[n++] = (struct vmop_source_domain){.id = (uint32_t)id};
	}
	return n;
}

static struct vmop_error *tell_source(struct vmop_domains *domains, struct vmop_source *source)
{
	struct vmop_source_domain chosen[64];
	size_t n = choose(domains->passive, chosen, sizeof(chosen) / sizeof(chosen[0]));
	struct vmop_error *err = vmop_source_set_domains(source, chosen, n);
	if (err && err->code == VMOP_ERROR_LIMIT)
		err->code = VMOP_ERROR_USAGE;
	for (size_t i = 0; !err && i < n; i++) {
		if (chosen[i].error == EINVAL || chosen[i].error == ESRCH)
			err = vmop_error_new(VMOP_ERROR_USAGE,
					     "--passive-domains: there is no domain %u; 'xl list' "
					     "shows those there are",
					     chosen[i].id);
		else if (chosen[i].error)
			err = vmop_error_os(chosen[i].error, "Xen does not sample domain %u",
					    chosen[i].id);
		vmop_domains_keep_spares(domains);
		if (!err && !vmop_xen_domains_meet(domains, chosen[i].id))
			err = &vmop_error_no_memory;
	}
	return err;
}

struct vmop_error *vmop_xen_domains_create(struct vmop_domains *domains, struct vmop_source *source)
{
	struct vmop_domain *host = domains->at[VMOP_DOMAIN_ID_HOST];
	domains->xen = calloc(1, sizeof(*domains->xen));
	struct vmop_domain *itself = domains->xen ? vmop_domains_new(domains) : NULL;
	if (!itself)
		return &vmop_error_no_memory;
	itself->kind = VMOP_DOMAIN_HYPERVISOR;
	strcpy(itself->name, "xen");
	itself->is_identified = true;
	/* Without symbols, offsets in it are addresses. */
	itself->kernel->kind = VMOP_IMAGE_HYPERVISOR;
	vmop_image_rename(itself->kernel, "[xen]");
	domains->xen->itself = itself;
	host->xen_id = 0;
	strcpy(host->name, "dom0");
	host->is_stored = false;
	domains->xen->by_id[0] = host;
	vmop_domains_keep_spares(domains);
	return tell_source(domains, source);
}

void vmop_xen_domains_destroy(struct vmop_xen_domains *xen)
{
	free(xen);
}

struct vmop_domain *vmop_xen_domains_meet(struct vmop_domains *domains, uint32_t xen_id)
{
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
	name_images(domain);
	vmop_domain_select(domains, domain);
	domains->xen->by_id[xen_id] = domain;
	return domain;
}

void vmop_xen_domains_gone(struct vmop_domains *domains, uint32_t xen_id)
{
	if (!domains->xen || xen_id == 0 || xen_id >= VMOP_XEN_IDS || !domains->xen->by_id[xen_id])
		return;
	vmop_domain_end(domains->xen->by_id[xen_id]);
	domains->xen->by_id[xen_id] = NULL;
}
