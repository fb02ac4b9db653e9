// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The profiler: takes records from a source as its sink, attributes and aggregates the samples, and
 * stores each interval in a session file, in one transaction.
 *
 * Caller: daemon/session.c, which decides when to drain the source and when to flush.
 *
 * A sample passes through attribute.c (its key: domain, vCPU, task, image and mode, by the tables
 * of daemon/host and daemon/guest), aggregate.c (summed by key and offset) and, at the flush,
 * flush.c (chunks of the session file).  losses.c counts missing samples by name.
 *
 * The per-sample path allocates nothing, takes no lock, makes no system call and builds no error
 * object; it counts what it can't handle.  One thread.
 */
#ifndef VMOP_DAEMON_PROFILE_PROFILER_H
#define VMOP_DAEMON_PROFILE_PROFILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/guest/sample-copy.h"
#include "daemon/options.h"
#include "daemon/stack/stacks.h"
#include "hv-interface/source.h"
#include "libdb/db.h"
#include "libutil/error.h"

struct vmop_blocked_facts; /* guest/off-cpu/batch.h */
struct vmop_domains;	   /* guest/domain.h */
struct vmop_guests;	   /* guest/guests.h */
struct vmop_guest_view;	   /* guest/view.h */
struct vmop_profiler;
struct vmop_waits_facts; /* hv-interface/bpf/waits.h */

/*
 * Create a profiler, and put the facts that are known at the start into db: events, the host's
 * domain, and the host's kernel and modules with their symbols.  source and db must outlive the
 * profiler, which the caller owns.
 *
 * VMOP_ERROR_USAGE: a named passive domain does not run (the message lists the running ones), or a
 * passive image can't be read (the message names it).
 */
struct vmop_error *vmop_profiler_create(const struct vmop_profiler_options *options,
					struct vmop_source *source, struct vmop_db *db,
					struct vmop_profiler **ret);
void vmop_profiler_destroy(struct vmop_profiler *profiler); /* NULL is allowed */

/* Return the sink for the source's records, valid as long as the profiler. */
struct vmop_sink vmop_profiler_sink(struct vmop_profiler *profiler);

/*
 * Read the processes, mappings and guests that run already.  Call it once, after the source was
 * started, so that it misses no process.
 */
struct vmop_error *vmop_profiler_scan(struct vmop_profiler *profiler);

/*
 * Find guests that came or went, and processes that ended without a record.  Call it about every
 * second.
 */
struct vmop_error *vmop_profiler_tick(struct vmop_profiler *profiler);

/* Go on with the call stacks that wait for unwind tables.  Call it after each drain. */
void vmop_profiler_drained(struct vmop_profiler *profiler);

/*
 * While memory is short, give back tables that can be built again, and keep no further call stacks.
 * Call it after a flush.
 */
void vmop_profiler_save_memory(struct vmop_profiler *profiler, bool is_short);

/* Return whether the aggregate is nearly full: flush now, or samples are lost. */
bool vmop_profiler_wants_flush(const struct vmop_profiler *profiler);

/*
 * Store the samples since the last flush as one interval, and begin the next.  After an error (a
 * full disk) the samples wait for the next flush; without room for more, further samples are
 * counted as the loss "store-full".  A row that the session can't hold is dropped, counted, and the
 * first one is logged; that is no error.  A detached profiler counts the samples as "store-gone".
 */
struct vmop_error *vmop_profiler_flush(struct vmop_profiler *profiler, uint64_t start_realtime_ns,
				       uint64_t len_ns);

/*
 * Store the source's events again, with their present notes.  Stores the times of events that share
 * counters as info pairs "event-ID-enabled_ns" and "event-ID-running_ns".
 */
struct vmop_error *vmop_profiler_store_events(struct vmop_profiler *profiler);

/* Set whether the next flush is the last one, which leaves no sample for later. */
void vmop_profiler_set_ending(struct vmop_profiler *profiler, bool is_ending);

/*
 * Detach the profiler from a session file that is gone: release db, the guests and Xen's lists.  It
 * still takes samples, only to count them.
 */
void vmop_profiler_detach(struct vmop_profiler *profiler);

/*
 * Return the place of the thread that watches guests, which a detached profiler keeps for the next
 * one: vmop_profiler_options.guest_watch. NULL in it: none.
 */
struct vmop_guest_watch **vmop_profiler_guest_watch(struct vmop_profiler *profiler);

/* Count the samples of the last flush as the loss "store-gone", because its file is gone. */
void vmop_profiler_count_last_as_gone(struct vmop_profiler *profiler);

/* Take over the losses that `before`, which has ended, could not store. */
void vmop_profiler_inherit(struct vmop_profiler *profiler, const struct vmop_profiler *before);

/*
 * Return the table of domains; and the state of the guests that are read, or NULL if no guest is.
 * Both are for active guests (daemon/active/), valid as long as the profiler is not detached.
 */
struct vmop_domains *vmop_profiler_domains(struct vmop_profiler *profiler);
struct vmop_guests *vmop_profiler_guests(struct vmop_profiler *profiler);

/* Pass a copy of each sample of an active guest's code to copy, whose arg must stay valid. */
void vmop_profiler_copy_samples(struct vmop_profiler *profiler,
				const struct vmop_sample_copy *copy);

/* Return the number of samples that wait for the next flush. */
uint64_t vmop_profiler_waiting(struct vmop_profiler *profiler);

/* Return whether a passive guest runs. */
bool vmop_profiler_has_guests(const struct vmop_profiler *profiler);

/* Return whether files of guests are gone before they are looked for: drain sooner. */
bool vmop_profiler_loses_files(const struct vmop_profiler *profiler);

struct vmop_profiler_stats {
	uint64_t samples;		 /* attributed or not */
	uint64_t unattributed;		 /* in a "[...]" image that names the reason */
	uint64_t store_full;		 /* lost because the disk was full */
	uint64_t table_full;		 /* lost because the aggregate was full */
	uint64_t store_gone;		 /* lost because the session's file was missing */
	uint64_t samples_rejected;	 /* lost in rows that the session can't hold */
	uint64_t facts_rejected;	 /* other rows that the session can't hold */
	uint64_t memory_dropped;	 /* stacks that were not kept while memory was short */
	uint64_t processes, images;	 /* in the tables now */
	uint64_t short_lived;		 /* tasks, in intervals that merged them */
	struct vmop_stacks_facts stacks; /* 0 if no call stacks are kept */
};
/* Set *ret to the present counts. */
void vmop_profiler_stats(const struct vmop_profiler *profiler, struct vmop_profiler_stats *ret);

/*
 * Return whether the time of vCPUs is divided, and set *ret to the counts. *ret_note: why exits are
 * not counted; or, if it is not, the reason; NULL: the set-up does not ask for it.
 */
bool vmop_profiler_waits(const struct vmop_profiler *profiler, struct vmop_waits_facts *ret,
			 const char **ret_note);

/*
 * Return event i of the session, from 0; NULL past the last. The event of blocked threads comes
 * after the source's.
 */
const struct vmop_event_info *vmop_profiler_event(const struct vmop_profiler *profiler, size_t i);

struct vmop_domain_stats {
	struct vmop_domain_id id;
	enum vmop_domain_kind kind;
	const char *name, *uuid; /* valid until the next call of the profiler; uuid may be NULL */
	uint32_t vmm_pid;
	int32_t xen_domid; /* -1: not a Xen domain */
	uint32_t n_vcpus;
	bool is_running;
	uint64_t samples_guest_user, samples_guest_kernel, samples_hypervisor, samples_vmm;
	/* The host's user and kernel samples are in its samples_guest_*. */
	uint64_t samples_own; /* of an active guest: stored in its own session */
	const char *image;    /* the source of its kernel's symbols, or the reason for none */
	const char *note;     /* a remark about its samples, or NULL */
	const struct vmop_guest_view *view;	  /* of its inside; NULL: none */
	const struct vmop_blocked_facts *blocked; /* of its threads; NULL: not sampled */
};
/* Set *ret to domain i, from 0; false after the last. */
bool vmop_profiler_domain(const struct vmop_profiler *profiler, size_t i,
			  struct vmop_domain_stats *ret);

#endif
