// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/kvm-provider.h"
#include "daemon/guest/provider.h"
#include "daemon/xen/provider.h"

/* The first one that serves the source is used. To add a provider, add a line here. */
static const struct vmop_domain_provider_ops *const providers[] = {
	&vmop_xen_provider_ops, &vmop_dom0_provider_ops,
	&vmop_kvm_provider_ops, /* serves all sources */
};

struct vmop_error *vmop_domain_provider_create(const struct vmop_profiler_options *options,
					       struct vmop_source *source,
					       struct vmop_domains *domains,
					       struct vmop_domain_provider **ret)
{
	size_t i = 0;
	while (!providers[i]->serves(source))
		i++;
	return providers[i]->create(options, source, domains, ret);
}

void vmop_domain_provider_destroy(struct vmop_domain_provider *provider)
{
	if (provider)
		provider->ops->destroy(provider);
}
