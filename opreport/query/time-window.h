// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The time that a report is of, as the spec time: gives it: FROM..TO, or one word.
 *
 * FROM and TO are words of libutil/time-words.h ("yesterday", "2026-11-09T03:00Z"), HH:MM[:SS] on
 * the sessions' day, +AFTER-START, -BEFORE-END, or empty.  TO is exclusive.  A single word is the
 * day, minute or second that it names; "+5m" is the first five minutes, "-5m" the last.
 */
#ifndef VMOP_OPREPORT_QUERY_TIME_WINDOW_H
#define VMOP_OPREPORT_QUERY_TIME_WINDOW_H

#include <stdbool.h>
#include <stdint.h>

#include "libutil/error.h"

#define VMOP_TIME_FORMS                                                                            \
	"HH:MM[:SS], YYYY-MM-DD[THH:MM[:SS][+HH:MM]], today, yesterday, monday, 'last 2h', now, "  \
	"@SECONDS[.FRACTION], +DURATION, -DURATION, joined by '..'"

enum vmop_time_kind {
	VMOP_TIME_OPEN,	       /* no bound */
	VMOP_TIME_REAL,	       /* value_ns: CLOCK_REALTIME */
	VMOP_TIME_OF_DAY,      /* value_ns: since local midnight */
	VMOP_TIME_AFTER_START, /* value_ns: since the start of the first session */
	VMOP_TIME_BEFORE_END,  /* value_ns: before the end of the last session */
};

struct vmop_time_bound {
	enum vmop_time_kind kind;
	uint64_t value_ns;
};

/* A zeroed one is all time. */
struct vmop_time_window {
	bool is_set;
	struct vmop_time_bound from, to;
	uint64_t to_after_from_ns; /* if not 0, the end is from + this, and to is unused */
};

/* Parse a window; now_ns is CLOCK_REALTIME.  False: malformed. */
bool vmop_time_window_parse(struct vmop_time_window *ret, const char *text, uint64_t now_ns);

/*
 * Return whether the window names times that do not depend on the sessions that are read, and set
 * the bounds: *ret_to_ns is 0 for no end.
 */
bool vmop_time_window_is_absolute(const struct vmop_time_window *window, uint64_t *ret_from_ns,
				  uint64_t *ret_to_ns);

/*
 * Set the bounds, in CLOCK_REALTIME, for sessions within [start_ns, end_ns).  A time of day is on
 * the first day on which the window overlaps them.  *ret_to_ns is 0 for no end.  VMOP_ERROR_USAGE:
 * the window ends before it begins.
 */
struct vmop_error *vmop_time_window_resolve(const struct vmop_time_window *window,
					    uint64_t start_ns, uint64_t end_ns,
					    uint64_t *ret_from_ns, uint64_t *ret_to_ns);

#endif
