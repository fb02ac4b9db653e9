// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The middle of a sample's life: who (domain, vCPU, task), where (image,
 * offset, mode), aggregation by key for the current interval, and one
 * transaction an interval.  It takes records from a source (as its sink) and
 * puts chunks into a session file; when to drain and when to flush is its
 * owner's to say (session.h).
 *
 * The per-sample path allocates nothing, builds no error objects, takes no
 * locks and makes no system calls; what it can't handle it counts.
 * One thread.
 */
#ifndef VMOP_DAEMON_PROFILE_PROFILER_H
#define VMOP_DAEMON_PROFILE_PROFILER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/options.h"
#include "hv-interface/source.h"
#include "libdb/db.h"
#include "libutil/error.h"

struct vmop_guest_view; /* guest/view.h */
struct vmop_profiler;

/*
 * Puts what is known at once (events, host domain, host kernel and modules with
 * their symbols) into db.  source and db must outlive it.  A passive domain that is
 * named but does not run is VMOP_ERROR_USAGE and lists those that do; a passive image
 * that can't be read is VMOP_ERROR_USAGE and names it.
 */
struct vmop_error *vmop_profiler_create(const struct vmop_profiler_options *options,
					struct vmop_source *source, struct vmop_db *db,
					struct vmop_profiler **ret);
void vmop_profiler_destroy(struct vmop_profiler *profiler); /* NULL is allowed */

/* Where the source's records go. Valid as long as the profiler. */
struct vmop_sink vmop_profiler_sink(struct vmop_profiler *profiler);

/*
 * Reads what runs already: processes, their mappings, guests.  To be called
 * once, after the source was started, so that nothing falls between.
 */
struct vmop_error *vmop_profiler_scan(struct vmop_profiler *profiler);

/*
 * Every second or so: notices guests that came and went, reads what the records
 * alone did not tell (build-ids, names, cgroups), forgets what is dead.
 */
struct vmop_error *vmop_profiler_tick(struct vmop_profiler *profiler);

/* The aggregation table is nearly full: flush now rather than lose. */
bool vmop_profiler_wants_flush(const struct vmop_profiler *profiler);

/*
 * Writes everything aggregated since the last flush as one interval and begins
 * the next one.  On an error (a full disk) the interval's samples are kept for
 * the next flush while there is room, and counted as lost "store-full" when not.
 * A row that the session can't hold is dropped, logged once and counted; that is no error.
 * Once detached it stores nothing, and counts what it drops as "store-gone".
 */
struct vmop_error *vmop_profiler_flush(struct vmop_profiler *profiler, uint64_t start_realtime_ns,
				       uint64_t len_ns);

/*
 * Stores the source's events once more, with what has been learnt of them: notes, and the times
 * of those that share counters, as info pairs "event-ID-enabled_ns" and "event-ID-running_ns".
 */
struct vmop_error *vmop_profiler_store_events(struct vmop_profiler *profiler);

/* Whether the next flush is the last one, which holds nothing back for later. */
void vmop_profiler_set_ending(struct vmop_profiler *profiler, bool is_ending);

/*
 * Its session file is no more: lets go of db, of guests and of Xen's lists.  It still takes
 * samples, to count them.
 */
void vmop_profiler_detach(struct vmop_profiler *profiler);

/* What was flushed last went into a file that is gone: counts it as lost "store-gone". */
void vmop_profiler_count_last_as_gone(struct vmop_profiler *profiler);

/* Take over the losses that `before`, which has ended, could not store. */
void vmop_profiler_inherit(struct vmop_profiler *profiler, const struct vmop_profiler *before);

/* Return the number of samples that wait for the next flush. */
uint64_t vmop_profiler_waiting(struct vmop_profiler *profiler);

struct vmop_profiler_stats {
	uint64_t samples;	    /* attributed or not */
	uint64_t unattributed;	    /* in a "[...]" image that says why */
	uint64_t store_full;	    /* lost because the disk was full */
	uint64_t table_full;	    /* lost because an interval hit more places than fit */
	uint64_t store_gone;	    /* lost because the session's file was not there */
	uint64_t samples_rejected;  /* lost in rows that the session can't hold */
	uint64_t facts_rejected;    /* other rows that it can't hold */
	uint64_t processes, images; /* known now */
	uint64_t short_lived;	    /* tasks, in intervals in which such were merged */
};
void vmop_profiler_stats(const struct vmop_profiler *profiler, struct vmop_profiler_stats *ret);

struct vmop_domain_stats {
	uint32_t id;
	enum vmop_domain_kind kind;
	const char *name, *uuid; /* hold until the next call into the profiler; uuid may be NULL */
	uint32_t vmm_pid;
	int32_t xen_domid; /* -1: not a Xen domain */
	uint32_t n_vcpus;
	bool is_running;
	uint64_t samples_guest_user, samples_guest_kernel, samples_hypervisor, samples_vmm;
	/* for the host itself: samples_guest_* are its own user and kernel samples */
	uint64_t samples_own;		    /* of an active one: in its own session, not in this */
	const char *image;		    /* what symbolises its kernel, or why nothing does */
	const char *note;		    /* what is to be known of its samples; NULL: nothing */
	const struct vmop_guest_view *view; /* its inside; NULL: nothing known */
};
/* i from 0; false past the last. */
bool vmop_profiler_domain(const struct vmop_profiler *profiler, size_t i,
			  struct vmop_domain_stats *ret);

#endif
