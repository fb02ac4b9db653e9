// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The clock of an active guest's own session, in the time of the host's session.
 *
 * The guest's agent reports its session's time every 100 ms or so, and the host notes when the
 * report came. The difference of the two is the guest's distance plus the time on the way, so that
 * the smallest difference is the best one. A difference that grows for good shows that the guest
 * was stopped; one that shrinks shows that the guest's session went forward with its wall clock.
 * Both begin a new part.
 *
 * The guest is hostile: a wrong time misplaces samples of its own session, and nothing else.
 */
#ifndef VMOP_DAEMON_ACTIVE_SESSION_CLOCK_H
#define VMOP_DAEMON_ACTIVE_SESSION_CLOCK_H

#include <stdbool.h>
#include <stdint.h>

#include "libdb/db.h"
#include "libutil/clock.h"

/* A smaller change of the difference is one of the way. */
#define VMOP_SESSION_CLOCK_STEP_NS VMOP_NS_PER_S
/* A larger difference that stays so long is no delay on the way. */
#define VMOP_SESSION_CLOCK_LATE_NS (3 * VMOP_NS_PER_S)
#define VMOP_SESSION_CLOCK_LATE_REPORTS 4

/* Zeroed: no report has come. */
struct vmop_session_clock {
	struct vmop_db_clock clock; /* in the order of the reports */
	uint64_t reported_ns;	    /* the host's time of the last report */
	/* The reports since the last one that came in time: the first, and the least difference. */
	unsigned n_late;
	uint64_t late_since_ns, late_from_ns;
	int64_t late_add_ns;
};

/*
 * Take a report of the guest's session that began at start_ns: at guest_ns, its time, or up to some
 * time after it, the host's session had host_ns. A report that was taken before is ignored. Return
 * whether the clock has changed so much that it should be stored. The oldest parts make room.
 */
bool vmop_session_clock_take(struct vmop_session_clock *clock, uint64_t start_ns, uint64_t guest_ns,
			     uint64_t host_ns);

#endif
