// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The bound on the WAL of a session's file. A reader that holds a snapshot (a report that is
 * stopped in the middle, or any user's program that has the file open) keeps the WAL from beginning
 * anew, and it grows with each interval. The daemon can't take the snapshot away. It names the
 * reader, and goes on in the next file when the WAL has the greatest length, so that the reader
 * holds no more than that.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "daemon/session-open.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"

/* A WAL of this length is held: a checkpoint comes every 4 MB, and takes a few intervals. */
static const uint64_t held_bytes = (uint64_t)12 << 20;

/*
 * The greatest length: as much as a reader copies of another user's WAL (libdb/db.c). With max-size
 * a quarter of it at most.
 */
static const uint64_t most_bytes = (uint64_t)64 << 20, least_bound_bytes = (uint64_t)16 << 20;

/* The time between two looks for the readers. */
static const uint64_t look_every_ns = 10 * VMOP_NS_PER_S;

static uint64_t bound_bytes(const struct vmop_setup *setup)
{
	uint64_t bound = most_bytes;
	if (setup->max_bytes && setup->max_bytes / 4 < bound)
		bound = setup->max_bytes / 4;
	return bound > least_bound_bytes ? bound : least_bound_bytes;
}

/* Ask the keeper for the readers, at once and then every few seconds. */
static void look_for_readers(struct vmop_session *session, bool is_first)
{
	uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	struct vmop_file_keeper *keeper;
	if (!is_first && now_ns - session->wal.looked_ns < look_every_ns)
		return;
	session->wal.looked_ns = now_ns;
	struct vmop_error *err = vmop_session_use_keeper(session, &keeper);
	if (!err)
		vmop_file_keeper_look_for_readers(keeper);
	vmop_session_note_failure(session, err);
}

char *vmop_session_wal_readers(const struct vmop_session *session)
{
	return session->wal.since_ns && session->keeper ? vmop_file_keeper_readers(session->keeper)
							: NULL;
}

/*
 * Return the reason to begin the next file, for the log, or NULL. Without a known reader (it can be
 * in another PID namespace, or the disk is slow) the bound is twice as large.
 */
static char *reason_to_rotate(const struct vmop_session *session)
{
	char *reason;
	_cleanup_free_ char *readers = vmop_session_wal_readers(session);
	uint64_t held_ns = vmop_clock_ns(CLOCK_REALTIME) - session->wal.since_ns;
	if (session->wal.bytes < bound_bytes(&session->setup) * (readers ? 1 : 2))
		return NULL;
	if (asprintf(&reason,
		     "%s: its WAL has %" PRIu64 " MiB, because %s has held a snapshot for %" PRIu64
		     " s: a new session begins",
		     session->path, session->wal.bytes >> 20,
		     readers ? readers : "an unknown process", held_ns / VMOP_NS_PER_S) < 0)
		return NULL;
	return reason;
}

char *vmop_session_watch_wal(struct vmop_session *session)
{
	struct vmop_wal_watch *wal = &session->wal;
	wal->bytes = vmop_db_wal_bytes(session->file.db);
	if (wal->bytes < held_bytes) {
		wal->since_ns = 0;
		return NULL;
	}
	bool is_first = !wal->since_ns;
	if (is_first)
		wal->since_ns = vmop_clock_ns(CLOCK_REALTIME);
	look_for_readers(session, is_first);
	return reason_to_rotate(session);
}
