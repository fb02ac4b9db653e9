// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Words for times, as users write them.  They are local times unless they have an offset:
 *
 *	now, today, yesterday
 *	monday ... sunday, mon ... sun	  the last such day, today included
 *	last monday			  likewise, before today
 *	last DURATION			  DURATION before now, to now: "last 2h"
 *	YYYY-MM-DD
 *	a day of those above, then 'T' or blanks, then HH:MM[:SS[.FRACTION]], then for dates also
 *	Z, +HH, +HHMM or +HH:MM (ISO 8601); second 60 is the first of the next minute
 *	@SECONDS[.FRACTION]		  since 1970
 */
#ifndef VMOP_LIBUTIL_TIME_WORDS_H
#define VMOP_LIBUTIL_TIME_WORDS_H

#include <stdbool.h>
#include <stdint.h>

/* CLOCK_REALTIME.  Local times that happen twice have two readings. */
struct vmop_time_words {
	uint64_t first_ns, last_ns; /* the earliest and the latest reading of the beginning */
	uint64_t end_ns; /* of the day, minute or second that is named; "now": first_ns */
};

/* Parse the whole text.  False: it is malformed, or before 1970 or after 2262. */
bool vmop_time_words_parse(const char *text, uint64_t now_ns, struct vmop_time_words *ret);

/* Parse "HH:MM[:SS[.FRACTION]]" up to *ret_end.  The unit is a minute, a second or 1 ns. */
bool vmop_time_of_day_parse(const char *text, const char **ret_end, uint64_t *ret_ns,
			    uint64_t *ret_unit_ns);

#endif
