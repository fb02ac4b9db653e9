// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A session: a source, a session file and the profiler between them, driven by an event loop.
 *
 * This folder is the program vmopd. vmopcontrol(8) starts and commands it, and systemd can. Data
 * meets its files in this order:
 *
 *	vmopd.c, detach.h	options and set-up, locks, the way to the background
 *	privileges.h		gives up capabilities and system calls for good
 *	control.h		a client's line from the control socket
 *	requests.h		the request in it: start, stop, status, save
 *	session.h		source -> profile/profiler.h -> session-file.h, until the stop
 *	roll-up.h		merges and deletes old intervals of the file
 *	rotation.h		when the next file begins, and which saved ones are too old
 *	status.h, inspect.h	the replies
 *
 * agent.h takes the place of control.h in an active domain. list-events.h and inspect-image.h are
 * programs of their own behind an option. host/, guest/ and xen/ serve profile/.
 *
 * The file is <session-dir>/current.vmop, also after the session ended. The next session keeps an
 * earlier one under the time of its start. All functions belong to the loop's thread.
 */
#ifndef VMOP_DAEMON_SESSION_H
#define VMOP_DAEMON_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "daemon/profile/profiler.h"
#include "hv-interface/bpf/guest-maps.h"
#include "hv-interface/source.h"
#include "libutil/error.h"
#include "libutil/setup.h"

struct vmop_session;

struct vmop_session_options {
	const struct vmop_setup *setup; /* copied */
	const struct vmop_source_ops *source;
	const char *replay_path;       /* for the replay source only */
	uint64_t duration_ns;	       /* the session ends after it; 0: no end */
	bool is_active;		       /* of an active guest: its host will read it */
	const char *given_uuid;	       /* of this machine, from its host; NULL: none. Copied */
	struct vmop_handed_feed *feed; /* for the handed source; it must outlive the session */
	sd_event *loop;
	/* Called once if the session ended because its duration or the replay is over. */
	void (*ended)(void *arg);
	void *arg;
};

/*
 * Open the source and a file, scan the running processes and begin to sample. Then put the file in
 * its place. On an error nothing is left behind, and current.vmop is still the session before.
 */
struct vmop_error *vmop_session_start(const struct vmop_session_options *options,
				      struct vmop_session **ret);

/*
 * Store the records in the buffers, finish the file and free session, also on an error. Set
 * *ret_stacks to vmop_session_stacks_count_text of all its stacks, which the caller frees. NULL is
 * allowed for session. Return the first error.
 */
struct vmop_error *vmop_session_stop(struct vmop_session *session, char **ret_stacks);

/*
 * Pause and resume the source (vmop_source_pause) of a session that another domain commands and
 * that starts paused. The file stays open, and its intervals go on.
 */
struct vmop_error *vmop_session_pause(struct vmop_session *session);
struct vmop_error *vmop_session_resume(struct vmop_session *session);

/* Store all samples up to now, and return after they are committed. */
struct vmop_error *vmop_session_dump(struct vmop_session *session);

/* Begin to fetch the sessions of active guests, which go on. Does not wait for them. */
void vmop_session_fetch(struct vmop_session *session);

/*
 * Continue in a new file. The present file gets `name`, or is deleted if name is NULL. No sample
 * is lost in between. On an error the session continues in its file; without a new one it continues
 * without a file: see `path` below. VMOP_ERROR_BUSY: the next file is not made yet, or the disk is
 * busy; call again. Another thread completes the present file afterwards.
 */
struct vmop_error *vmop_session_rotate(struct vmop_session *session, const char *name);

/* Return whether the files of earlier rotations are complete, and no old session is to be removed.
 */
bool vmop_session_is_settled(struct vmop_session *session);

/*
 * Do the same under the time at which the present file began. The caller frees *ret_name. The next
 * file begins where the saved one ends, so that no moment is in both or in neither.
 */
struct vmop_error *vmop_session_rotate_by_time(struct vmop_session *session, char **ret_name);

struct vmop_session_status {
	const char *path;	   /* of the file; NULL: no file, samples are only counted */
	const char *source;	   /* perf, xen, replay */
	bool is_recorded;	   /* a replay: the records are of another time */
	const char *transport;	   /* the transport of its samples; NULL: the source has only one */
	uint64_t start_ns;	   /* CLOCK_REALTIME, of the current file */
	uint64_t uptime_ns;	   /* since start_ns */
	uint64_t duration_left_ns; /* UINT64_MAX: no end is set */
	uint64_t disk_bytes;
	uint64_t wal_bytes;	   /* of the file, in use */
	uint64_t wal_since_ns;	   /* CLOCK_REALTIME, since when it is held; 0: it is not */
	uint64_t longest_pause_ns; /* of the sampling thread, since the start: pause.h */
	double overhead_permyriad; /* of all CPUs' time, lately: overhead.h; negative: not known */
	unsigned max_overhead_permyriad, rate_divisor;
	uint64_t memory_limit_bytes, memory_left_bytes; /* of the daemon's cgroup; 0: no limit */
	uint64_t memory_shortages;
	uint64_t failures;		       /* failed flushes, drains and scans */
	const char *last_failure;	       /* NULL: none */
	struct vmop_source_stats source_stats; /* since the current file's start */
	struct vmop_profiler_stats profiler_stats;
};

/*
 * Return the processes that hold a snapshot and so the WAL, "vmopreport (pid 12)", which the caller
 * frees; NULL: no reader is known.
 */
char *vmop_session_wal_readers(const struct vmop_session *session);

/* Set *ret to the present status. Its texts are valid until the next call of any function. */
void vmop_session_status(struct vmop_session *session, struct vmop_session_status *ret);

/* Return event or domain i, from 0; NULL or false past the last. Events are as really sampled. */
const struct vmop_event_info *vmop_session_event(const struct vmop_session *session, size_t i);
/* Return whether event i is that of guests' blocked threads, which no CPU delivers. */
bool vmop_session_event_is_of_guests(const struct vmop_session *session, size_t i);
bool vmop_session_domain(const struct vmop_session *session, size_t i,
			 struct vmop_domain_stats *ret);

/*
 * Return the captured call stacks like vmop_source_stacks. *ret_note also has a reason
 * if the source captures none despite the set-up.
 */
const struct vmop_stack_options *vmop_session_stacks(const struct vmop_session *session,
						     const char **ret_note);

/* The capture of guests' contexts, since the session began. */
struct vmop_session_context {
	bool is_on;
	bool is_required; /* the set-up has "on", not "auto" */
	/*
	 * If it is off: the reason, one line that completes "not captured, because ..."; NULL: the
	 * set-up does not ask for it.
	 */
	const char *note;
	struct vmop_guest_maps_facts facts; /* if it is on */
};
/* Set *ret to the present state. */
void vmop_session_guest_context(const struct vmop_session *session,
				struct vmop_session_context *ret);

/* See vmop_profiler_waits. */
bool vmop_session_waits(const struct vmop_session *session, struct vmop_waits_facts *ret,
			const char **ret_note);

/*
 * Return that in words: "captured (SVM)", or "not captured, because ...". The caller frees it.
 * NULL: the set-up does not ask for it, or out of memory.
 */
char *vmop_session_guest_context_text(const struct vmop_session *session);

/*
 * Return the stacks in words: "by CFI, 16 KiB of each user stack (NOTE)". The caller frees it.
 * NULL: the set-up asks for no call stacks, or out of memory.
 */
char *vmop_session_stacks_text(const struct vmop_session *session);

/*
 * Return the number of call stacks with their ends: "900 call stacks: 98.2 % complete, 1.8 % copy
 * too small; 9 unwind tables of 0.4 MiB". The caller frees it. NULL: there are none, or out of
 * memory.
 */
char *vmop_session_stacks_count_text(struct vmop_session *session);

/*
 * Return one line for people: "sampling cpu-clock at 1000 Hz on 2 CPUs (NOTE), 2 guests". The
 * caller frees it. NULL: out of memory.
 */
char *vmop_session_summary(struct vmop_session *session);

#endif
