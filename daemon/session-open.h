// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A session, open to the files that implement session.h: session.c, session-succession.c for the
 * files that it writes one after another, and others for one matter each.
 */
#ifndef VMOP_DAEMON_SESSION_OPEN_H
#define VMOP_DAEMON_SESSION_OPEN_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/active/guests.h"
#include "daemon/clock-watch.h"
#include "daemon/file-keeper.h"
#include "daemon/memory-limit.h"
#include "daemon/overhead.h"
#include "daemon/pairing.h"
#include "daemon/pause.h"
#include "daemon/rate-history.h"
#include "daemon/roll-up.h"
#include "daemon/rotation.h"
#include "daemon/session-file.h"
#include "daemon/session.h"
#include "daemon/xen/agent-messages.h"
#include "daemon/xen/fetching.h"

struct vmop_session_memory {
	struct vmop_memory_limit limit; /* as last read */
	bool is_short;
	uint64_t n_shortages; /* since the session began */
};

/* The WAL of the file, while a reader keeps it from beginning anew. */
struct vmop_wal_watch {
	uint64_t bytes;
	uint64_t since_ns;  /* CLOCK_REALTIME, when it was first found too long; 0: it is not */
	uint64_t looked_ns; /* CLOCK_MONOTONIC, when readers were last looked for */
};

struct vmop_session {
	struct vmop_setup setup;
	const struct vmop_source_ops *source_ops;
	struct vmop_pairing pairing;
	sd_event *loop;
	sd_event_source *readable, *flush_timer, *contexts_timer, *active_timer, *end_timer, *step,
		*fetch_timer; /* NULL: nothing was fetched from a domain of Xen */
	void (*ended)(void *arg);
	void *arg;

	struct vmop_agent_messages *mail;	/* of the source; NULL: no active domains */
	struct vmop_xen_fetching *xen_fetching; /* NULL: no domain's session is fetched */
	struct vmop_active_guests *active;	/* of KVM; NULL: no guest is named */
	struct vmop_source *source;
	struct vmop_source_stats
		at_file_start;		 /* the source's counters at the start of this file */
	struct vmop_session_file file;	 /* without one the profiler only counts */
	struct vmop_file_keeper *keeper; /* NULL: not needed yet */
	struct vmop_profiler *profiler;
	struct vmop_sink sink; /* the profiler's */
	char *path;	       /* of current.vmop */

	uint64_t start_realtime_ns, start_monotonic_ns; /* of this file */
	uint64_t interval_monotonic_ns;			/* start of the open interval */
	struct vmop_clock_watch clock;
	uint64_t end_monotonic_ns; /* 0: no end is set */
	uint64_t events_stored_ns;
	struct vmop_roll_up roll_up; /* of this file */
	struct vmop_rotation rotation;
	struct vmop_wal_watch wal;
	struct vmop_pause pause; /* since the session began */
	struct vmop_overhead overhead;
	struct vmop_session_memory memory;
	struct vmop_rate_history rates; /* of this file */
	uint64_t cost_begun_ns,
		cost_stored_ns; /* own CPU time at the start of this file; CLOCK_MONOTONIC */
	bool is_replay;
	bool is_active;				     /* see vmop_session_options */
	char given_uuid[VMOP_UUID_BYTES];	     /* likewise */
	struct vmop_error *replay_error;	     /* it ended the replay early */
	uint64_t replay_begun_ns, replay_flushed_ns; /* time of the records; 0: no record yet */

	uint64_t failures;
	char *last_failure;
	char *logged_failure;  /* the last one logged: a repetition is not logged */
	bool is_failing;       /* since the last stored interval */
	bool is_store_failing; /* the store is the cause */
	bool throttling_was_logged;
	bool beyond_was_logged; /* max-overhead cannot be kept */
};

/* ---- session.c ------------------------------------------------------------- */

/* Log the first of consecutive failures, and keep the last one for --status. Takes err or NULL. */
void vmop_session_note_failure(struct vmop_session *session, struct vmop_error *err);

/* Store how long each event had a counter, if events share counters and it is time. */
void vmop_session_store_events(struct vmop_session *session, uint64_t now_monotonic);

/*
 * Return the time of the session's own clock at a moment of CLOCK_MONOTONIC. It begins with the
 * file, as CLOCK_REALTIME then was, and only goes forward: clock-watch.h.
 */
uint64_t vmop_session_time_ns(const struct vmop_session *session, uint64_t monotonic_ns);

/* Let the profiler copy the samples that are handed to active guests. */
void vmop_session_copy_samples(struct vmop_session *session);

/* Store the open interval and begin another one. */
struct vmop_error *vmop_session_flush(struct vmop_session *session);

/* Pass the records from before up_to_ns (CLOCK_MONOTONIC) to the profiler. */
struct vmop_error *vmop_session_drain(struct vmop_session *session, uint64_t up_to_ns);

/*
 * Return whether the interval in progress has to become longer: to store it now could wait for the
 * disk, and the rings would fill up.
 */
bool vmop_session_is_disk_busy(const struct vmop_session *session);

/* Store the open interval of a replay, which ends at the time of a record. */
void vmop_session_replay_flush(struct vmop_session *session, uint64_t record_ns);

/* ---- session-fetching.c, and vmop_session_fetch ---------------------------------------------- */

/* Prepare to fetch the sessions of active domains of Xen, if the set-up wants that. */
struct vmop_error *vmop_session_open_fetching(struct vmop_session *session);
/* Interrupt what goes on, also with active guests of KVM. */
void vmop_session_close_fetching(struct vmop_session *session);

/* Note that the file is left: vmop_fetches_leave_session. */
void vmop_session_leave_file(struct vmop_session *session, const char *path);

/* Fetch the sessions of all active guests, after their end. Waits for them. */
void vmop_session_end_fetching(struct vmop_session *session);

/* ---- session-cost.c -------------------------------------------------------- */

/* Prepare to keep the set-up's max-overhead. The source is open. */
void vmop_session_cost_init(struct vmop_session *session);

/* Count the cost of a new file from now on. */
void vmop_session_cost_begin_file(struct vmop_session *session);

/* Measure the daemon's share of the CPUs' time, and change the rate of samples if it is time. */
void vmop_session_limit_cost(struct vmop_session *session);

/* Store the daemon's CPU time and memory, and its longest pause, in the file. */
struct vmop_error *vmop_session_store_cost(struct vmop_session *session);

/* ---- session-memory.c ------------------------------------------------------ */

/*
 * Read the limit of the daemon's cgroup, before a profiler makes its tables. Return an error if it
 * is too low for a session.
 */
struct vmop_error *vmop_session_measure_memory(struct vmop_session *session);

/*
 * Read it again, limit allocations, and save memory if it is short. Call it after a profiler was
 * made, and after each interval.
 */
void vmop_session_limit_memory(struct vmop_session *session);

/* ---- session-succession.c -------------------------------------------------- */

/* Create a profiler that writes db. goes_on: it continues the work of another profiler. */
struct vmop_error *vmop_session_create_profiler(struct vmop_session *session, struct vmop_db *db,
						bool goes_on, struct vmop_profiler **ret);

/* ---- session-wal.c ----------------------------------------------------------- */

/*
 * Look at the length of the WAL, and for the processes that keep it from beginning anew. If it is
 * too long, return the reason to begin the next file, which the caller frees; otherwise NULL.
 */
char *vmop_session_watch_wal(struct vmop_session *session);

/* Set *ret to the thread that works with files, and start it before its first use. */
struct vmop_error *vmop_session_use_keeper(struct vmop_session *session,
					   struct vmop_file_keeper **ret);

/* Begin a file under a temporary name. vmop_session_file_publish puts it in its place. */
struct vmop_error *vmop_session_begin_file(const struct vmop_session *session,
					   uint64_t start_realtime_ns,
					   struct vmop_session_file *ret);

/* Replace the session's file and profiler. `profiler` writes `file`. */
void vmop_session_take_up(struct vmop_session *session, const struct vmop_session_file *file,
			  struct vmop_profiler *profiler, uint64_t start_realtime_ns);

/* Log the name under which the last session was kept; NULL: there was none. */
void vmop_session_log_kept(const struct vmop_session *session, const char *kept);

/* Return the error that the file was deleted or moved. */
struct vmop_error *vmop_session_no_file(struct vmop_session *session);

/* Complete and close a file that was moved or deleted. The profiler then only counts samples. */
void vmop_session_check_place(struct vmop_session *session);

/* Begin a new file in the place of a lost one if the session directory exists. */
void vmop_session_begin_again(struct vmop_session *session);

/*
 * Let the session's time follow the machine's clocks, at the end of an interval. After a step of
 * the clock the file is saved and the next one begins, as by vmop_session_rotate_if_due.
 */
void vmop_session_follow_clock(struct vmop_session *session);

/*
 * Save the file and begin the next one if the set-up's `rotate` wants it, and remove sessions that
 * are too old. An attempt that fails is repeated after a minute.
 */
void vmop_session_rotate_if_due(struct vmop_session *session);

/* Let checkpoints begin again if the rotation that they waited for has not come until now_ns. */
void vmop_session_release_checkpoints(struct vmop_session *session, uint64_t now_ns);

/* Store the rest and finish the file. Return the first error. */
struct vmop_error *vmop_session_finish_file(struct vmop_session *session);

#endif
