// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef VMOP_LIBUTIL_CLOCK_H
#define VMOP_LIBUTIL_CLOCK_H

#include <stdint.h>
#include <time.h>

/* What a clock of clock_gettime(2), which must exist, says now, in nanoseconds. */
static inline uint64_t vmop_clock_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

#endif
