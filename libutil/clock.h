// SPDX-License-Identifier: GPL-2.0-or-later
#ifndef VMOP_LIBUTIL_CLOCK_H
#define VMOP_LIBUTIL_CLOCK_H

#include <stdint.h>
#include <time.h>

#define VMOP_NS_PER_MS UINT64_C(1000000)
#define VMOP_NS_PER_S UINT64_C(1000000000)

/* Return the time of `clock` in nanoseconds (clock_gettime(2)). The clock must exist. */
static inline uint64_t vmop_clock_ns(clockid_t clock)
{
	struct timespec now;
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * VMOP_NS_PER_S + (uint64_t)now.tv_nsec;
}

/* Return the time from from_ns to to_ns; 0 if to_ns is earlier. */
static inline uint64_t vmop_clock_between_ns(uint64_t from_ns, uint64_t to_ns)
{
	return to_ns > from_ns ? to_ns - from_ns : 0;
}

/* Return CLOCK_REALTIME - CLOCK_MONOTONIC, in nanoseconds. A suspend or a step changes it. */
static inline int64_t vmop_clock_monotonic_to_realtime_ns(void)
{
	uint64_t real_ns = vmop_clock_ns(CLOCK_REALTIME);
	return (int64_t)(real_ns - vmop_clock_ns(CLOCK_MONOTONIC));
}

#endif
