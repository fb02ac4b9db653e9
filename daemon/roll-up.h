// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Merges the old intervals of a running session's file into minutes and hours. The set-up has the
 * ages; a machine with many short-lived programs gets its minutes earlier. One thread, the
 * session's.
 */
#ifndef VMOP_DAEMON_ROLL_UP_H
#define VMOP_DAEMON_ROLL_UP_H

#include <stdint.h>

#include "daemon/profile/profiler.h"
#include "libdb/db.h"
#include "libutil/error.h"
#include "libutil/setup.h"

/* The state of one file. All members are 0 when the file begins. */
struct vmop_roll_up {
	uint64_t last_ns;		/* CLOCK_REALTIME of the last call that did anything */
	struct vmop_db_written written; /* to the file, at last_ns */
	uint64_t short_lived;		/* tasks in the file, at last_ns */
};

/*
 * Merge a bounded number of intervals of db, or do nothing if the last call was less than 10 s ago.
 * profiler writes db. now_ns is CLOCK_REALTIME, in a replay the time of the records.
 */
struct vmop_error *vmop_roll_up(struct vmop_roll_up *roll_up, struct vmop_db *db,
				const struct vmop_profiler *profiler,
				const struct vmop_setup *setup, uint64_t now_ns);

#endif
