// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * daemon/guest/: the domains of a session, the views of passive guests, and the attribution of
 * their samples.
 *
 * Callers: daemon/profile/ drives every function from the sampling thread.  daemon/xen/ adds
 * Xen's domains.  daemon/inspect.c and daemon/status.c read views and domains.
 *
 * Data meets the files in this order:
 *	patterns.h	which guests the set-up selects, and the kernel images given for them
 *	provider.h	the operations that find the owner of a sample: KVM's here, Xen's in
 *			daemon/xen/; daemon/provider-list.c selects one
 *	domain.h	the table of domains and vCPUs, and their rows in the session file
 *	identify.h	name, uuid, VMM and vCPU threads of a KVM guest (vmm.h, kvm.h)
 *	guests.h	holds a passive guest's samples until the flush, then attributes them
 *			(watched.h has its state, images.h the images)
 *	context/	samples with a context: samples.h requests what they need, placement.h has
 *			the rules, files.h the files by page, code.h stores bytes of their code;
 *			requests.h and serve.h pass requests to the watching thread
 *	stacks/		unwinds the stacks in a context, and those of waiting threads
 *	off-cpu/	samples of blocked threads
 *	watch.h		a thread that reads the memory of passive guests and publishes views
 *	off-cpu/	on that thread, the blocked threads of guests and their stacks (sampler.h)
 *	guest-reader.h	on that thread, what reads one guest; guest-opener.h opens it
 *	view.h		the view: kernel code, snapshots, readings of the vCPUs
 *	attribution.h	the rules that find the process of a sample without a context, in a view
 *	tasks.h		the session's task ids of a guest's processes
 *
 * This header: a domain is the host, the hypervisor on Xen, or a guest.  A KVM guest is one VMM
 * process.  Two virtual machines in one process are one domain, because samples distinguish them
 * only by their vCPU threads.  A guest is found when /proc shows that a process has mapped
 * anon_inode:kvm-vcpu, in debugfs, by the name of a VMM, or by the first sample of its vCPU.
 *
 * Only the functions below change a struct vmop_domain.  Each of them marks the row of the domain
 * as changed when it did change.
 */
#ifndef VMOP_DAEMON_GUEST_DOMAIN_H
#define VMOP_DAEMON_GUEST_DOMAIN_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/guest/patterns.h"
#include "daemon/host/process.h"
#include "daemon/host/text-map.h"
#include "libdb/db.h"
#include "libutil/vmm.h"
#include "vmop/domain.h"
#include "vmop/ids.h"

#define VMOP_DOMAINS_MAX 4096 /* in a session; later guests are [guest limit] */
#define VMOP_VCPUS_MAX 16384  /* that run at one time */
#define VMOP_NO_SOURCE_ID UINT32_MAX

struct vmop_watched_guest;

struct vmop_vcpu {
	uint32_t tid;
	uint32_t number;
	bool is_sure; /* the number is KVM's own; false: a guess by the order of threads */
	bool is_stored, has_exited;
	struct vmop_domain *domain;
	struct vmop_vcpu *prev, *next; /* of its domain */
};

#define VMOP_DOMAIN_NOTE_BYTES 320 /* of a copied note, with the NUL */

struct vmop_domain {
	struct vmop_domain_id id;
	enum vmop_domain_kind kind;
	char name[VMOP_GUEST_NAME_BYTES];
	char uuid[VMOP_UUID_BYTES]; /* "": not known */
	char vmm[64];
	uint32_t vmm_pid;   /* 0: none (Xen) */
	uint32_t source_id; /* the hypervisor's number of it (Xen); VMOP_NO_SOURCE_ID: none */
	bool is_several;    /* a placeholder for domains that the source does not distinguish */
	/*
	 * Xen samples the address of the guest's previous exit.  Such samples are counted as
	 * VMOP_LOSS_STALE.
	 */
	bool has_stale_addresses;
	const char *note; /* a warning about its samples, for users; NULL: none */
	char copied_note[VMOP_DOMAIN_NOTE_BYTES];
	uint32_t kvm_tid; /* the number in the name of its debugfs folder; 0: not known */
	uint64_t first_seen_ns, last_seen_ns; /* CLOCK_REALTIME */
	bool is_running;
	bool is_stored;			    /* the session has the row as it is now */
	bool is_identified;		    /* name and uuid were read: it can be selected */
	unsigned identify_in, identify_gap; /* ticks until it is identified again */
	unsigned n_unlisted; /* Xen: listings that lacked it before it was identified */
	const struct vmop_domain_pattern *pattern; /* the one that selected it; NULL: none */

	struct vmop_image *kernel, *user;   /* "[guest NAME kernel]", ... */
	struct vmop_text_map code;	    /* of its kernel, where that is known */
	struct vmop_watched_guest *watched; /* of guests.h; NULL: it is not watched */
	const char *symbols_from;	    /* see vmop_domain_stats.image */
	/* Why its samples have no context of the guest; "": they have, or it is not passive. */
	char context_note[160];
	bool has_new_context_note;  /* the session does not have the note as it is now */
	struct vmop_db_clock clock; /* of an active guest's own session */

	struct vmop_vcpu *vcpus;
	uint32_t n_vcpus;
	uint64_t samples_user, samples_kernel, samples_hypervisor, samples_vmm;
	uint64_t samples_own; /* an active domain's own count, in its own session */
};

#define VMOP_DOMAIN_SPARES 4

struct vmop_domains {
	const char *root; /* of /proc and /sys; NULL: neither is read */
	struct vmop_images *images;
	struct vmop_processes *processes;
	const struct vmop_domain_patterns *passive;
	const struct vmop_domain_patterns *active; /* of KVM guests; NULL: none */
	struct vmop_domain *at[VMOP_DOMAINS_MAX];  /* by id; 0 is the host */
	uint32_t n;
	/* Allocated ahead, so that the per-sample path can take one. */
	struct vmop_domain *spares[VMOP_DOMAIN_SPARES];
	struct vmop_idmap vcpus; /* by tid */
	struct vmop_pool vcpu_pool;
	/* Processes that may start a guest, and kernel workers that may belong to one. */
	struct vmop_watch {
		uint32_t pid;
		unsigned in, gap; /* ticks until the next check */
	} watches[256];
	uint32_t n_watches;
	uint64_t realtime_ns; /* of the last tick */
	uint64_t n_refused;
	bool goes_on;		/* see vmop_profiler_options */
	bool is_read_elsewhere; /* likewise: guests are stored without their UUIDs */
};

/* ---- the table ---------------------------------------------------------------------- */

/*
 * Initialise domains with the host.  All arguments must outlive it.  root: where /proc and /sys
 * are, "" on a real machine; NULL: neither is read.  passive: the patterns of --passive-domains;
 * may be NULL if no domain is selected.  given_uuid: of vmop_identify_machine().
 */
struct vmop_error *vmop_domains_init(struct vmop_domains *domains, const char *root,
				     const char *given_uuid, struct vmop_images *images,
				     struct vmop_processes *processes,
				     const struct vmop_domain_patterns *passive);
void vmop_domains_deinit(struct vmop_domains *domains);

/* Allocate spare domains and vCPUs, which the per-sample path takes. Call it between samples. */
void vmop_domains_keep_spares(struct vmop_domains *domains);
/* Add a running guest under the next id.  NULL: no room, counted as refused. */
struct vmop_domain *vmop_domains_new(struct vmop_domains *domains);

/*
 * Return the guest that process runs, and add it if it is new; NULL: no room.  For the per-sample
 * path.
 */
struct vmop_domain *vmop_domains_ensure(struct vmop_domains *domains, struct vmop_process *process);

/*
 * Return the vCPU of domain whose thread is tid, and add it if it is new; NULL: no room.  For the
 * per-sample path.
 */
struct vmop_vcpu *vmop_domains_ensure_vcpu(struct vmop_domains *domains, struct vmop_domain *domain,
					   uint32_t tid);

static inline struct vmop_vcpu *vmop_domains_vcpu(const struct vmop_domains *domains, uint32_t tid)
{
	return vmop_idmap_get(&domains->vcpus, tid);
}

/*
 * Set the number of thread tid's vCPU to KVM's own.  A vCPU that had this number by a guess gets
 * the other's number.
 */
void vmop_domains_number_vcpu(struct vmop_domains *domains, struct vmop_domain *domain,
			      uint32_t tid, uint32_t number);

/*
 * Return whether the source samples the guest's code, and vmop reads its memory to attribute the
 * samples. An active guest of KVM is read, too: its own session supersedes these samples where it
 * has any.
 */
static inline bool vmop_domain_is_read(const struct vmop_domain *domain)
{
	return domain->kind == VMOP_DOMAIN_PASSIVE ||
	       (domain->kind == VMOP_DOMAIN_ACTIVE && domain->vmm_pid);
}

/* Check whether process, just read or renamed, is a VMM or a worker of one. */
void vmop_domains_consider(struct vmop_domains *domains, struct vmop_process *process);
/* End the guest of process, which executes another program or has exited. */
void vmop_domains_process_gone(struct vmop_process *process);
void vmop_domains_thread_gone(struct vmop_domains *domains, uint32_t tid);

/* Look for new guests; read names and vCPUs. Call it about once a second. */
void vmop_domains_tick(struct vmop_domains *domains);

/* Read the names of guests that are new since the last tick. Call it before rows are stored. */
void vmop_domains_identify_new(struct vmop_domains *domains);

/* Put the rows that changed.  After the commit, vmop_domains_stored notes that they are stored. */
struct vmop_error *vmop_domains_store(struct vmop_domains *domains, struct vmop_db *db);
void vmop_domains_stored(struct vmop_domains *domains);

/*
 * Check that each of the patterns except "all" matches a guest that runs now, according to /proc.
 * VMOP_ERROR_USAGE names the first that does not, and lists the guests that run. kind is "passive"
 * or "active", for the message.
 */
struct vmop_error *vmop_domains_check_patterns(struct vmop_domains *domains,
					       const struct vmop_domain_patterns *patterns,
					       const char *kind);

/* ---- one domain: its row --------------------------------------------------------------- */

void vmop_domain_set_kind(struct vmop_domain *domain, enum vmop_domain_kind kind);
/* Set the name, the uuid or the VMM; text that is too long is cut. */
void vmop_domain_set_name(struct vmop_domain *domain, const char *name);
void vmop_domain_set_uuid(struct vmop_domain *domain, const char *uuid);
void vmop_domain_set_vmm(struct vmop_domain *domain, const char *vmm);
void vmop_domain_set_vmm_pid(struct vmop_domain *domain, uint32_t pid);
/* Note that the domain no longer runs, and neither do its vCPUs. */
void vmop_domain_end(struct vmop_domain *domain);

/* ---- one domain: its selection ----------------------------------------------------------- */

/*
 * Select the domain by --active-domains or --passive-domains, according to its name, uuid and
 * numbers, and set its kind.  On Xen a number in a pattern is Xen's id, because users see no other;
 * elsewhere it is the pid of the VMM or the id in the session.
 */
void vmop_domain_select(struct vmop_domains *domains, struct vmop_domain *domain);
/* Undo the selection; kind is the new kind. */
void vmop_domain_deselect(struct vmop_domain *domain, enum vmop_domain_kind kind);

/* ---- one domain: the code of its kernel ----------------------------------------------------- */

/* Rename all images of the domain after its name, or one of them to "[guest NAME what]". */
void vmop_domain_name_images(struct vmop_domain *domain);
void vmop_domain_name_image(const struct vmop_domain *domain, struct vmop_image *image,
			    const char *what);

/*
 * Make domain->kernel the image of unknown code, before the first pieces of code are set.  An
 * image that has samples already keeps them, as "kernel, not yet found".
 */
void vmop_domain_begin_code(struct vmop_domains *domains, struct vmop_domain *domain);
/* Add one piece; the reference to its image passes to the domain. */
void vmop_domain_add_code(struct vmop_domains *domains, struct vmop_domain *domain,
			  const struct vmop_text_piece *piece);
/* Replace all pieces by those of *code, which passes to the domain. */
void vmop_domain_set_code(struct vmop_domains *domains, struct vmop_domain *domain,
			  const struct vmop_text_map *code);

/* ---- one domain: fields outside its row ------------------------------------------------------ */

/* note and from are not copied, and must outlive the domain. */
static inline void vmop_domain_set_note(struct vmop_domain *domain, const char *note)
{
	domain->note = note;
}

/* Copy a note, cut to fit. */
void vmop_domain_copy_note(struct vmop_domain *domain, const char *note);

static inline void vmop_domain_set_symbols_from(struct vmop_domain *domain, const char *from)
{
	domain->symbols_from = from;
}

static inline void vmop_domain_set_source_id(struct vmop_domain *domain, uint32_t source_id)
{
	domain->source_id = source_id;
}

static inline void vmop_domain_set_identified(struct vmop_domain *domain, bool is_identified)
{
	domain->is_identified = is_identified;
}

/*
 * Set the reason why the samples of a passive guest have no context of the guest
 * (vmop/guest-context.h), one line, for the session's fact "domain-ID-context". NULL or "": they
 * have. The text is copied, and cut if it is too long. Cheap if it is as before.
 */
void vmop_domain_set_context_note(struct vmop_domain *domain, const char *note);

/* Set the clock of an active guest's own session, for the session's fact "domain-ID-clock". */
void vmop_domain_set_clock(struct vmop_domain *domain, const struct vmop_db_clock *clock);

static inline void vmop_domain_set_several(struct vmop_domain *domain)
{
	domain->is_several = true;
}

static inline void vmop_domain_set_stale_addresses(struct vmop_domain *domain, bool has_them)
{
	domain->has_stale_addresses = has_them;
}

static inline void vmop_domain_set_watched(struct vmop_domain *domain,
					   struct vmop_watched_guest *watched)
{
	domain->watched = watched;
}

/* Count a listing of Xen's domains that lacks this one.  Returns how many did before. */
static inline unsigned vmop_domain_count_unlisted(struct vmop_domain *domain)
{
	return domain->n_unlisted++;
}

/* ---- one domain: counters, for the per-sample path --------------------------------------------
 */

static inline void vmop_domain_count_user(struct vmop_domain *domain)
{
	domain->samples_user++;
}

static inline void vmop_domain_count_kernel(struct vmop_domain *domain)
{
	domain->samples_kernel++;
}

static inline void vmop_domain_count_hypervisor(struct vmop_domain *domain)
{
	domain->samples_hypervisor++;
}

static inline void vmop_domain_count_vmm(struct vmop_domain *domain)
{
	domain->samples_vmm++;
}

static inline void vmop_domain_set_samples_own(struct vmop_domain *domain, uint64_t samples)
{
	domain->samples_own = samples;
}

/* Note that a sample has the vCPU of that number; Xen's vCPUs have no threads. */
static inline void vmop_domain_count_vcpu(struct vmop_domain *domain, uint32_t number)
{
	if (number >= domain->n_vcpus)
		domain->n_vcpus = number + 1;
}

#endif
