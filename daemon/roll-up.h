// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Keeps a running session's file as the set-up wants it: merges old intervals by the ladder,
 * deletes those that are too old, makes room when the file is too large, and gives free pages back.
 * A machine with many short-lived programs gets its first step earlier. One thread, the session's.
 *
 * The rings fill meanwhile, so the work is done in small transactions, and for a bounded time a
 * call. What is left over is done after the next flush.
 */
#ifndef VMOP_DAEMON_ROLL_UP_H
#define VMOP_DAEMON_ROLL_UP_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/profile/profiler.h"
#include "libdb/db.h"
#include "libutil/error.h"
#include "libutil/setup.h"

/* The state of one file. All members are 0 when the file begins. */
struct vmop_roll_up {
	uint64_t begun_ns;		/* of the first call */
	uint64_t last_ns;		/* of the last call that did everything */
	struct vmop_db_written written; /* to the file, at last_ns */
	uint64_t short_lived;		/* tasks in the file, at last_ns */
	uint64_t age_ns;		/* at which recorded intervals are merged now */
	bool goes_on;			/* the last call left something over */
	bool no_room_was_logged;
};

/*
 * Do a bounded part of the due work, or nothing if all was done less than 10 s ago. profiler
 * writes db. now_ns is the end of the last interval: ages are counted by the session's own time, so
 * that a step of the clock deletes nothing.
 */
struct vmop_error *vmop_roll_up(struct vmop_roll_up *roll_up, struct vmop_db *db,
				const struct vmop_profiler *profiler,
				const struct vmop_setup *setup, uint64_t now_ns);

#endif
