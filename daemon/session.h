// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A session's life: a source, a session file and the profiler between them,
 * driven by an event loop.
 *
 * The file is <session-dir>/current.vmop while it runs and after it ended; what
 * was there before is kept under its start time.  One thread, the loop's.
 */
#ifndef VMOP_DAEMON_SESSION_H
#define VMOP_DAEMON_SESSION_H

#include <stdbool.h>
#include <stdint.h>
#include <systemd/sd-event.h>

#include "daemon/profile/profiler.h"
#include "hv-interface/source.h"
#include "libutil/error.h"
#include "libutil/setup.h"

struct vmop_session;

struct vmop_session_options {
	const struct vmop_setup *setup; /* copied as text; need not outlive the start */
	const struct vmop_source_ops *source;
	const char *replay_path; /* for the replay source */
	uint64_t duration_ns;	 /* ends by itself after it; 0: not */
	sd_event *loop;
	/* Called once when it ended by itself: its duration is over, or the replay. */
	void (*ended)(void *arg);
	void *arg;
};

/*
 * Opens everything, scans what runs and begins to sample; then the file takes its place.  On an
 * error nothing is left behind, and the session before is current.vmop as it was.
 */
struct vmop_error *vmop_session_start(const struct vmop_session_options *options,
				      struct vmop_session **ret);

/*
 * Ends it: what is in the buffers is stored, the file finished.  session is
 * freed whatever happens; NULL is allowed.
 */
struct vmop_error *vmop_session_stop(struct vmop_session *session);

/*
 * See vmop_source_pause, of a session that another domain commands, which starts paused: the file
 * stays open, and its intervals go on.
 */
struct vmop_error *vmop_session_pause(struct vmop_session *session);
struct vmop_error *vmop_session_resume(struct vmop_session *session);

/* Stores all that was sampled until now; done when it is committed. */
struct vmop_error *vmop_session_dump(struct vmop_session *session);

/*
 * Goes on in a fresh file; the one until now becomes name, or is thrown away when name
 * is NULL.  No sample between the two is lost.  On an error the session goes on as it was; or,
 * where its file can't be written any more, without one, until one can be begun: see struct
 * vmop_session_status.
 */
struct vmop_error *vmop_session_rotate(struct vmop_session *session, const char *name);

struct vmop_session_status {
	const char *path;	   /* of the file; NULL: it is gone, and samples are only counted */
	const char *source;	   /* perf, xen, replay */
	bool is_recorded;	   /* the records are of another time: a replay */
	const char *way;	   /* how its samples come; NULL: there is but one way */
	uint64_t start_ns;	   /* CLOCK_REALTIME, of the current file */
	uint64_t uptime_ns;	   /* since then */
	uint64_t duration_left_ns; /* UINT64_MAX: no end is set */
	uint64_t disk_bytes;
	uint64_t failures;		       /* flushes, drains and scans that failed */
	const char *last_failure;	       /* NULL: none */
	struct vmop_source_stats source_stats; /* since the current file's start */
	struct vmop_profiler_stats profiler_stats;
};
void vmop_session_status(struct vmop_session *session, struct vmop_session_status *ret);

/* What is really sampled, and the domains; index from 0, NULL or false past the last. */
const struct vmop_event_info *vmop_session_event(const struct vmop_session *session, size_t i);
bool vmop_session_domain(const struct vmop_session *session, size_t i,
			 struct vmop_domain_stats *ret);

/* "sampling cpu-clock at 1000 Hz on 2 CPUs (why), 2 guests"; the caller frees; NULL: no memory. */
char *vmop_session_summary(struct vmop_session *session);

#endif
