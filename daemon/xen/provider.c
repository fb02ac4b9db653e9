// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/xen/provider.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/host/kernel-address.h"
#include "daemon/xen/domains.h"
#include "daemon/xen/guests.h"
#include "daemon/xen/symbols.h"
#include "libutil/log.h"

#define VCPUS_MAX 8192 /* at least HVM_MAX_VCPUS and MAX_VIRT_CPUS */

struct xen_provider {
	struct vmop_domain_provider base;
	struct vmop_xen_domains *domains;
	struct vmop_xen_guests *guests; /* NULL: this is an active domU, which lists no guests */
	struct vmop_domain_patterns active;
};

static struct xen_provider *to_xen(struct vmop_domain_provider *provider)
{
	return (struct xen_provider *)provider;
}

static void xen_destroy(struct vmop_domain_provider *provider)
{
	struct xen_provider *xen = to_xen(provider);
	vmop_xen_guests_destroy(xen->guests);
	vmop_xen_domains_destroy(xen->domains);
	vmop_domain_patterns_deinit(&xen->active);
	free(xen);
}

static void xen_detach(struct vmop_domain_provider *provider)
{
	struct xen_provider *xen = to_xen(provider);
	vmop_xen_guests_destroy(xen->guests);
	xen->guests = NULL;
}

/* Load the symbols of Xen.  They may have gone since the session began, which is no error. */
static struct vmop_error *load_symbols(struct xen_provider *xen,
				       const struct vmop_profiler_options *options)
{
	struct vmop_error *err = vmop_xen_symbols_load(xen->domains, options->setup->xen);
	if (!options->goes_on || err == &vmop_error_no_memory)
		return err;
	vmop_log_and_destroy(VMOP_LOG_WARNING, err);
	return NULL;
}

static struct xen_provider *xen_new(const struct vmop_domain_provider_ops *ops,
				    struct vmop_domains *domains)
{
	struct xen_provider *xen = calloc(1, sizeof(*xen));
	if (xen)
		xen->base = (struct vmop_domain_provider){
			.ops = ops, .domains = domains, .no_process = VMOP_UNATTRIBUTED_DOM0_USER};
	return xen;
}

/* Pass a provider to the caller, or destroy it if err reports that its creation failed. */
static struct vmop_error *finish(struct xen_provider *xen, struct vmop_error *err,
				 struct vmop_domain_provider **ret)
{
	if (err)
		xen_destroy(&xen->base);
	else
		*ret = &xen->base;
	return err;
}

/* ---- samples by Xen's own profiling ------------------------------------------------------- */

static bool xen_serves(const struct vmop_source *source)
{
	return source->ops->numbers_domains;
}

static struct vmop_error *xen_create(const struct vmop_profiler_options *options,
				     struct vmop_source *source, struct vmop_domains *domains,
				     struct vmop_domain_provider **ret)
{
	struct xen_provider *xen = xen_new(&vmop_xen_provider_ops, domains);
	if (!xen)
		return &vmop_error_no_memory;
	bool is_dom0 = vmop_source_takes_domains(source);
	if (!is_dom0)
		xen->base.no_process = VMOP_UNATTRIBUTED_DOMU_USER;
	xen->base.keeps_file_symbols = !is_dom0;
	struct vmop_error *err = vmop_domain_patterns_init_names(
		&xen->active, (const char *const *)options->setup->active_domains.items,
		options->setup->active_domains.n);
	if (!err)
		err = vmop_xen_domains_create(domains, is_dom0, &xen->domains);
	if (!err && is_dom0)
		err = load_symbols(xen, options);
	if (!err && is_dom0)
		err = vmop_xen_guests_create(xen->domains, &xen->active, source, &xen->guests);
	return finish(xen, err, ret);
}

static struct vmop_error *xen_tick(struct vmop_domain_provider *provider)
{
	struct xen_provider *xen = to_xen(provider);
	return xen->guests ? vmop_xen_guests_tick(xen->guests) : NULL;
}

static void find_guest(struct vmop_domain *domain, const struct vmop_sample *sample,
		       struct vmop_sample_owner *ret)
{
	ret->kind = VMOP_OWNER_GUEST;
	/* A stale address is that of the previous exit: the mode of this exit does not apply. */
	ret->is_kernel = domain->has_stale_addresses ? vmop_is_kernel_address(sample->ip)
						     : (sample->flags & VMOP_SAMPLE_KERNEL) != 0;
	if (sample->source_vcpu < VCPUS_MAX)
		vmop_domain_count_vcpu(domain, sample->source_vcpu);
}

static void xen_find_owner(struct vmop_domain_provider *provider, const struct vmop_sample *sample,
			   struct vmop_process *process, struct vmop_sample_owner *ret)
{
	struct vmop_xen_domains *domains = to_xen(provider)->domains;
	struct vmop_domain *domain = vmop_xen_domains_ensure(domains, sample->source_domain);
	(void)process;
	*ret = (struct vmop_sample_owner){
		.kind = domain ? VMOP_OWNER_HOST : VMOP_OWNER_NO_ROOM,
		.domain = domain,
		.hypervisor = domains->hypervisor,
		.vcpu = (int32_t)sample->source_vcpu,
	};
	if (domain && sample->flags & VMOP_SAMPLE_HYPERVISOR && domains->hypervisor)
		ret->kind = VMOP_OWNER_HYPERVISOR;
	else if (domain && sample->flags & VMOP_SAMPLE_GUEST)
		find_guest(domain, sample, ret);
}

const struct vmop_domain_provider_ops vmop_xen_provider_ops = {
	.name = "xen",
	.serves = xen_serves,
	.create = xen_create,
	.destroy = xen_destroy,
	.detach = xen_detach,
	.tick = xen_tick,
	.find_owner = xen_find_owner,
};

/* ---- samples by perf, in dom0 ---------------------------------------------------------------- */

static bool dom0_serves(const struct vmop_source *source)
{
	return vmop_source_reach(source) != VMOP_REACH_ALL;
}

/*
 * Return an error if the set-up names a domain: its user expects samples, and perf in dom0 has
 * none.  may_be_all: "all" is no such name.
 */
static struct vmop_error *reject_names(const char *kind, const char *const *names, size_t n,
				       bool may_be_all, enum vmop_source_reach reach)
{
	for (size_t i = 0; i < n; i++)
		if (!may_be_all || strcmp(names[i], "all") != 0)
			return vmop_error_new(
				VMOP_ERROR_CANT,
				"%s domain \"%s\" can't be sampled from dom0: Xen's own profiling "
				"isn't there or not used, and perf %s; run vmopd in the domain",
				kind, names[i],
				reach == VMOP_REACH_UNDIVIDED ? "does not tell domains apart"
							      : "sees only dom0");
	return NULL;
}

/* The other domains are listed as not sampled, so that no user takes them for idle. */
static struct vmop_error *dom0_create(const struct vmop_profiler_options *options,
				      struct vmop_source *source, struct vmop_domains *domains,
				      struct vmop_domain_provider **ret)
{
	enum vmop_source_reach reach = vmop_source_reach(source);
	struct vmop_error *err = reject_names("passive", options->passive_domains,
					      options->n_passive_domains, true, reach);
	if (!err)
		err = reject_names("active",
				   (const char *const *)options->setup->active_domains.items,
				   options->setup->active_domains.n, false, reach);
	if (err)
		return err;
	struct xen_provider *xen = xen_new(&vmop_dom0_provider_ops, domains);
	if (!xen)
		return &vmop_error_no_memory;
	err = vmop_xen_domains_create_for_perf(domains, reach, &xen->domains);
	if (!err && xen->domains->hypervisor)
		err = load_symbols(xen, options);
	if (!err)
		err = vmop_xen_guests_create(xen->domains, &xen->active, source, &xen->guests);
	return finish(xen, err, ret);
}

const struct vmop_domain_provider_ops vmop_dom0_provider_ops = {
	.name = "dom0",
	.serves = dom0_serves,
	.create = dom0_create,
	.destroy = xen_destroy,
	.detach = xen_detach,
	.tick = xen_tick,
	.find_owner = xen_find_owner,
};
