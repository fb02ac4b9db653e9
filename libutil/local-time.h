// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Local time and its steps, in the zone of TZ.  Times are CLOCK_REALTIME in ns.  Where the clocks
 * are set back, a local time happens twice; where they are set forward, some never happen.
 */
#ifndef VMOP_LIBUTIL_LOCAL_TIME_H
#define VMOP_LIBUTIL_LOCAL_TIME_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* The greatest second whose ns fit an int64_t: in the year 2262. */
#define VMOP_REAL_SECONDS_MAX (INT64_MAX / 1000000000)

/*
 * Set *ret_first_ns and *ret_last_ns to the first and the last time at which local clocks show the
 * year to second of civil, whose other fields are ignored.  They differ only where clocks are set
 * back.  A time that never happens is taken as if the clocks were set forward after it.  Fields
 * beyond their range are carried over, as by mktime(3).  False: before 1970 or after 2262.
 */
bool vmop_local_to_real(const struct tm *civil, uint64_t *ret_first_ns, uint64_t *ret_last_ns);

/* Set *ret to 00:00 of the local day of time_ns, plus a number of days.  False: out of range. */
bool vmop_local_midnight(uint64_t time_ns, int days, uint64_t *ret);

/*
 * A step is a number of seconds that divides a day, or a number of days.  Return whether step_s is
 * one, of at most VMOP_LOCAL_DAYS_MAX days.
 */
#define VMOP_LOCAL_DAYS_MAX 366
bool vmop_local_step_is_valid(uint64_t step_s);

/*
 * Return the start of the step that contains time_ns, and the end of the step that begins at
 * start_ns.  Steps of up to an hour have their length in real time, and a change of the zone's
 * offset ends one.  Longer steps begin where local clocks show a multiple of them: a day has 23 or
 * 25 hours where clocks are set forward or back.  Steps of several days are counted from a Monday.
 */
uint64_t vmop_local_step_start(uint64_t time_ns, uint64_t step_s);
uint64_t vmop_local_step_end(uint64_t start_ns, uint64_t step_s);

#endif
