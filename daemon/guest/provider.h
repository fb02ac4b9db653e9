// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where the domains of a machine come from.  On a KVM host a guest is a process, found through
 * /proc; Xen numbers its domains, and xenstore lists them.  Everything that differs is behind one
 * operations table; daemon/provider-list.c lists the tables.
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
	VMOP_OWNER_NO_ROOM,    /* more guests than are kept track of */
};

/* Whose code a sample hit. */
struct vmop_sample_owner {
	enum vmop_owner_kind kind;
	struct vmop_domain *domain;	/* GUEST: it. HYPERVISOR: the domain that it worked for */
	struct vmop_domain *hypervisor; /* HYPERVISOR: its domain */
	int32_t vcpu;			/* of domain; -1: not known */
	bool is_kernel;			/* GUEST: in kernel mode, else in user mode */
};

struct vmop_domain_provider;

struct vmop_domain_provider_ops {
	const char *name;
	/* Whether it provides the domains whose samples source delivers. */
	bool (*serves)(const struct vmop_source *source);
	/*
	 * Adds the domains that are known at once.  VMOP_ERROR_USAGE or VMOP_ERROR_CANT: the set-up
	 * names a domain that does not run or cannot be sampled.  *ret keeps pointers to all three
	 * arguments.
	 */
	struct vmop_error *(*create)(const struct vmop_profiler_options *options,
				     struct vmop_source *source, struct vmop_domains *domains,
				     struct vmop_domain_provider **ret);
	void (*destroy)(struct vmop_domain_provider *provider);
	/* Stops following the domains that come and go; find_owner works as before. */
	void (*detach)(struct vmop_domain_provider *provider);
	/*
	 * Called about once a second: takes up domains that came, went or were renamed.  An error
	 * is one line for the operator; profiling goes on.
	 */
	struct vmop_error *(*tick)(struct vmop_domain_provider *provider);
	/*
	 * Per sample, so without allocation: finds the owner of sample, which process gave; NULL:
	 * process is not known.  A guest that was not seen before becomes a domain.
	 */
	void (*find_owner)(struct vmop_domain_provider *provider, const struct vmop_sample *sample,
			   struct vmop_process *process, struct vmop_sample_owner *ret);
};

/* Every provider begins with this. */
struct vmop_domain_provider {
	const struct vmop_domain_provider_ops *ops;
	struct vmop_domains *domains;
	/* The reason for user addresses of the host whose process the source does not name. */
	enum vmop_unattributed no_process;
	/*
	 * The session will be read in another domain, which lacks this one's files: their symbols
	 * are stored.
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
