// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Domains: the host, and each guest from when its VMM is first seen until that
 * is over.  A guest is one VMM process (KVM tells samples of two virtual machines in
 * one process apart by their vCPU threads alone; they are one domain here).
 *
 * A guest is found by what its process has mapped (anon_inode:kvm-vcpu) when /proc is
 * read, by debugfs, by a VMM's name, or by the first sample that its vCPU gives.
 */
#ifndef VMOP_DAEMON_GUEST_DOMAIN_H
#define VMOP_DAEMON_GUEST_DOMAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/guest/passive.h"
#include "daemon/guest/vmm.h"
#include "daemon/host/code-map.h"
#include "daemon/host/process.h"
#include "vmop/domain.h"

#define VMOP_DOMAINS_MAX 4096 /* in a session; later guests are [guest limit] */
#define VMOP_VCPUS_MAX 16384  /* that run at one time */
#define VMOP_NO_SOURCE_ID UINT32_MAX

struct vmop_guest_inside;

struct vmop_vcpu {
	uint32_t tid;
	uint32_t number;
	bool is_sure; /* the number is KVM's own, not a guess by order */
	bool is_stored, has_exited;
	struct vmop_domain *domain;
	struct vmop_vcpu *prev, *next; /* of its domain */
};

struct vmop_domain {
	uint32_t id;
	enum vmop_domain_kind kind;
	char name[VMOP_GUEST_NAME_BYTES];
	char uuid[VMOP_UUID_BYTES]; /* "": not known */
	char vmm[64];
	uint32_t vmm_pid;   /* 0: none (Xen) */
	uint32_t source_id; /* the hypervisor's number of it (Xen); VMOP_NO_SOURCE_ID: none */
	bool is_several;    /* it stands for several domains that the source does not tell apart */
	/* Xen samples where the guest was at its exit before: counted (VMOP_LOSS_STALE). */
	bool has_stale_addresses;
	const char *note; /* what is to be known of its samples; NULL: nothing */
	uint32_t kvm_tid; /* its folder in debugfs bears this number; 0: not known */
	uint64_t first_seen_ns, last_seen_ns; /* CLOCK_REALTIME */
	bool is_running, is_stored;
	bool is_identified;		    /* name and uuid were asked for: it can be selected */
	unsigned identify_in, identify_gap; /* ticks until it is asked again */
	const struct vmop_passive_pattern *pattern; /* what selected it */

	struct vmop_image *kernel, *user; /* "[guest NAME kernel]", ... */
	struct vmop_text_map text;	  /* of its kernel, where that is known */
	struct vmop_guest_inside *inside; /* of guests.h; NULL: nobody looks into it */
	const char *symbols_from;	  /* see vmop_domain_stats.image */

	struct vmop_vcpu *vcpus;
	uint32_t n_vcpus;
	uint64_t samples_user, samples_kernel, samples_hypervisor, samples_vmm;
	uint64_t samples_own; /* of an active one, in its own session, as it tells */
};

#define VMOP_DOMAIN_SPARES 4

struct vmop_domains {
	const char *root; /* of /proc and /sys; NULL: nothing to look at */
	struct vmop_images *images;
	struct vmop_processes *processes;
	const struct vmop_passive *passive;
	struct vmop_domain *at[VMOP_DOMAINS_MAX]; /* by id; 0 is the host */
	uint32_t n;
	/* Made ahead, so that the per-sample path can take one. */
	struct vmop_domain *spares[VMOP_DOMAIN_SPARES];
	struct vmop_idmap vcpus; /* by tid */
	struct vmop_pool vcpu_pool;
	/* Processes that may come to run a guest, and kernel workers to be matched with one. */
	struct vmop_watch {
		uint32_t pid;
		unsigned in, gap; /* ticks until it is looked at */
	} watches[256];
	uint32_t n_watches;
	uint64_t realtime_ns; /* of the last tick */
	uint64_t n_refused;
	bool goes_on; /* see vmop_profiler_options */
};

struct vmop_error *vmop_domains_init(struct vmop_domains *domains, const char *root,
				     struct vmop_images *images, struct vmop_processes *processes,
				     const struct vmop_passive *passive);
void vmop_domains_deinit(struct vmop_domains *domains);

/* Makes new guests possible where nothing may be allocated. */
void vmop_domains_keep_spares(struct vmop_domains *domains);
/* A new guest, running, with its id; NULL: no room. */
struct vmop_domain *vmop_domains_new(struct vmop_domains *domains);
void vmop_domain_end(struct vmop_domain *domain); /* it runs no more */
/*
 * By what is known of it: is it one that the set-up selects?  Xen's ids are the only numbers that
 * its users see: the session's don't count there.
 */
void vmop_domain_select(struct vmop_domains *domains, struct vmop_domain *domain);
/* Has its images bear its name; or one of them, as "[guest NAME what]". */
void vmop_domain_name_images(struct vmop_domain *domain);
void vmop_domain_name_image(const struct vmop_domain *domain, struct vmop_image *image,
			    const char *what);

/* The per-sample path: the guest that process runs, new if need be; NULL: no room. */
struct vmop_domain *vmop_domains_meet(struct vmop_domains *domains, struct vmop_process *process);

/* The per-sample path: the vCPU whose thread gave a guest's sample; NULL: no room. */
struct vmop_vcpu *vmop_domains_meet_vcpu(struct vmop_domains *domains, struct vmop_domain *domain,
					 uint32_t tid);

static inline struct vmop_vcpu *vmop_domains_vcpu(const struct vmop_domains *domains, uint32_t tid)
{
	return vmop_idmap_get(&domains->vcpus, tid);
}

/* process was read, or took another name: is it a VMM, or a worker of one? */
void vmop_domains_consider(struct vmop_domains *domains, struct vmop_process *process);
/* process executes another program or is over: so is the guest that it ran. */
void vmop_domains_process_gone(struct vmop_process *process);
void vmop_domains_thread_gone(struct vmop_domains *domains, uint32_t tid);

/* Looks for guests that came; learns names and vCPUs. */
void vmop_domains_tick(struct vmop_domains *domains);

/* Learns the names of those that came since the last tick, for the rows about to be stored. */
void vmop_domains_identify_new(struct vmop_domains *domains);

/* Puts the rows that changed; after the commit, notes that they are stored. */
struct vmop_error *vmop_domains_store(struct vmop_domains *domains, struct vmop_db *db);
void vmop_domains_stored(struct vmop_domains *domains);

/*
 * VMOP_ERROR_USAGE if a pattern (but "all") matches none of the guests that run
 * now, which /proc is asked about; it lists those that do.
 */
struct vmop_error *vmop_domains_check_patterns(struct vmop_domains *domains);

#endif
