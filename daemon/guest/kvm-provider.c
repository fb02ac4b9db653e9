// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/kvm-provider.h"

#include <stdlib.h>

#include "daemon/host/kernel-address.h"

struct kvm_provider {
	struct vmop_domain_provider base;
	struct vmop_domain_patterns active;
};

static void kvm_destroy(struct vmop_domain_provider *provider)
{
	struct kvm_provider *kvm = (struct kvm_provider *)provider;
	provider->domains->active = NULL;
	vmop_domain_patterns_deinit(&kvm->active);
	free(kvm);
}

static bool kvm_serves(const struct vmop_source *source)
{
	(void)source;
	return true;
}

static struct vmop_error *kvm_create(const struct vmop_profiler_options *options,
				     struct vmop_source *source, struct vmop_domains *domains,
				     struct vmop_domain_provider **ret)
{
	(void)source;
	struct kvm_provider *kvm = calloc(1, sizeof(*kvm));
	if (!kvm)
		return &vmop_error_no_memory;
	kvm->base = (struct vmop_domain_provider){
		.ops = &vmop_kvm_provider_ops,
		.domains = domains,
		.no_process = VMOP_UNATTRIBUTED_NO_PROCESS,
		.keeps_file_symbols = options->is_read_elsewhere,
	};
	struct vmop_error *err = NULL;
	if (!options->is_replay)
		err = vmop_domain_patterns_init_names(
			&kvm->active, (const char *const *)options->setup->active_domains.items,
			options->setup->active_domains.n);
	domains->active = &kvm->active;
	if (!err && !options->goes_on)
		err = vmop_domains_check_patterns(domains, domains->passive, "passive");
	if (!err && !options->goes_on)
		err = vmop_domains_check_patterns(domains, &kvm->active, "active");
	if (err)
		kvm_destroy(&kvm->base);
	else
		*ret = &kvm->base;
	return err;
}

static void kvm_detach(struct vmop_domain_provider *provider)
{
	(void)provider;
}

static struct vmop_error *kvm_tick(struct vmop_domain_provider *provider)
{
	(void)provider; /* vmop_domains_tick() watches processes on every machine */
	return NULL;
}

/*
 * The source decides whether a sample is a guest's.  perf's flag is wrong for some work of the host
 * on arm64; hv-interface/perf/guest-exit.h corrects it.
 */
static void kvm_find_owner(struct vmop_domain_provider *provider, const struct vmop_sample *sample,
			   struct vmop_process *process, struct vmop_sample_owner *ret)
{
	*ret = (struct vmop_sample_owner){.kind = VMOP_OWNER_HOST, .vcpu = -1};
	if (!(sample->flags & VMOP_SAMPLE_GUEST))
		return;
	/* On x86 perf's flags are wrong for some percent of the samples before Linux 6.12. */
	ret->is_kernel = sample->flags & VMOP_SAMPLE_MODE_KNOWN
				 ? (sample->flags & VMOP_SAMPLE_KERNEL) != 0
				 : vmop_is_kernel_address(sample->ip);
	ret->domain = process ? vmop_domains_ensure(provider->domains, process) : NULL;
	ret->kind = ret->domain ? VMOP_OWNER_GUEST : VMOP_OWNER_NO_ROOM;
	if (!ret->domain)
		return;
	const struct vmop_vcpu *vcpu =
		vmop_domains_ensure_vcpu(provider->domains, ret->domain, sample->tid);
	ret->vcpu = vcpu ? (int32_t)vcpu->number : -1;
}

const struct vmop_domain_provider_ops vmop_kvm_provider_ops = {
	.name = "kvm",
	.serves = kvm_serves,
	.create = kvm_create,
	.destroy = kvm_destroy,
	.detach = kvm_detach,
	.tick = kvm_tick,
	.find_owner = kvm_find_owner,
};
