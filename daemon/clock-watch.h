// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How a session's time follows the machine's clocks. It counts CLOCK_MONOTONIC from the start of
 * the file, so intervals never overlap or run backwards. That clock stands still while the machine
 * is suspended, and does not follow steps of CLOCK_REALTIME:
 *
 *	- After a suspend, the time goes forward by its length, which CLOCK_BOOTTIME has.
 *	- If CLOCK_REALTIME is ahead by less than an hour, the time goes forward to it.
 *	- If it is behind by less than an hour, which leap seconds can do, the time stays ahead.
 *	- If it differs by more, a new file begins with the new time.
 */
#ifndef VMOP_DAEMON_CLOCK_WATCH_H
#define VMOP_DAEMON_CLOCK_WATCH_H

#include <stdbool.h>
#include <stdint.h>

struct vmop_clock_reading {
	uint64_t real_ns, monotonic_ns, boot_ns; /* of the three clocks, at one moment */
};

struct vmop_clock_watch {
	struct vmop_clock_reading first;
	uint64_t asleep_ns; /* CLOCK_BOOTTIME - CLOCK_MONOTONIC, at the last check */
};

/* Read the three clocks, one after the other. */
struct vmop_clock_reading vmop_clock_watch_read(void);

/* Begin to watch, at the start of a session's first file. */
void vmop_clock_watch_init(struct vmop_clock_watch *watch, const struct vmop_clock_reading *now);

/*
 * Compare the clocks with session_ns, the session's time at that moment. Set *ret_forward_ns to the
 * time by which it has to go forward. Return true if a new file has to begin, because
 * CLOCK_REALTIME was stepped by an hour or more.
 */
bool vmop_clock_watch_check(struct vmop_clock_watch *watch, const struct vmop_clock_reading *now,
			    uint64_t session_ns, uint64_t *ret_forward_ns);

/* Return whether the next file begins with real_ns and not where the one before ended. */
bool vmop_clock_is_other_time(uint64_t real_ns, uint64_t joint_ns);

/*
 * Return the time by which the age of saved sessions is counted: no step of the clock since the
 * first reading makes them older.
 */
uint64_t vmop_clock_watch_cautious_ns(const struct vmop_clock_watch *watch,
				      const struct vmop_clock_reading *now);

#endif
