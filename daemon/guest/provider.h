// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The operations that differ between the ways in which a machine has domains.  On a KVM host a
 * guest is a process, found through /proc.  Xen numbers its domains, and xenstore lists them.
 *
 * daemon/provider-list.c lists the tables.  daemon/profile/ creates the provider of a session,
 * calls its tick, and attributes each sample by its find_owner.
 */
#ifndef VMOP_DAEMON_GUEST_PROVIDER_H
#define VMOP_DAEMON_GUEST_PROVIDER_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/guest/domain.h"
#include "daemon/host/unattributed.h"
#include "daemon/options.h"
#include "hv-interface/source.h"
#include "libutil/error.h"
#include "vmop/record.h"

enum vmop_owner_kind {
	VMOP_OWNER_HOST,
	VMOP_OWNER_GUEST,
	VMOP_OWNER_HYPERVISOR, /* its own code */
	VMOP_OWNER_NO_ROOM,    /* a guest beyond VMOP_DOMAINS_MAX */
};

/* The owner of the code that a sample hit. */
struct vmop_sample_owner {
	enum vmop_owner_kind kind;
	struct vmop_domain *domain; /* GUEST: the guest.  HYPERVISOR: the domain that is billed */
	struct vmop_domain *hypervisor; /* HYPERVISOR: its domain */
	int32_t vcpu;			/* of domain; -1: not known */
	bool is_kernel;			/* GUEST: in kernel mode, else in user mode */
};

struct vmop_domain_provider;

struct vmop_domain_provider_ops {
	const char *name;
	/* Return whether it provides the domains whose samples source delivers. */
	bool (*serves)(const struct vmop_source *source);
	/*
	 * Create *ret, and add the domains that are known at once.  VMOP_ERROR_USAGE or
	 * VMOP_ERROR_CANT: the set-up names a domain that does not run or cannot be sampled.  All
	 * three arguments must outlive *ret.
	 */
	struct vmop_error *(*create)(const struct vmop_profiler_options *options,
				     struct vmop_source *source, struct vmop_domains *domains,
				     struct vmop_domain_provider **ret);
	void (*destroy)(struct vmop_domain_provider *provider);
	/* Stop following domains that come and go.  find_owner works as before. */
	void (*detach)(struct vmop_domain_provider *provider);
	/*
	 * Follow domains that came, went or were renamed.  Called about once a second.  An error
	 * is one line for the operator; profiling goes on.
	 */
	struct vmop_error *(*tick)(struct vmop_domain_provider *provider);
	/*
	 * Find the owner of sample.  process: the host's process that was sampled; NULL: not known.
	 * A guest that is new becomes a domain.  For the per-sample path: it does not allocate.
	 */
	void (*find_owner)(struct vmop_domain_provider *provider, const struct vmop_sample *sample,
			   struct vmop_process *process, struct vmop_sample_owner *ret);
};

/* The first member of every provider. */
struct vmop_domain_provider {
	const struct vmop_domain_provider_ops *ops;
	struct vmop_domains *domains;
	/* The reason for host user samples whose process the source does not report. */
	enum vmop_why no_process;
	/*
	 * Store the symbols of files, because the session will be read in another domain, which
	 * does not have these files.
	 */
	bool keeps_file_symbols;
};

/* Create the provider that serves source. Arguments and errors are those of its create(). */
struct vmop_error *vmop_domain_provider_create(const struct vmop_profiler_options *options,
					       struct vmop_source *source,
					       struct vmop_domains *domains,
					       struct vmop_domain_provider **ret);
void vmop_domain_provider_destroy(struct vmop_domain_provider *provider); /* NULL is allowed */

#endif
