// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The pauses of the sampling thread: the times for which it was awake and did not empty the rings,
 * because it stored an interval, rolled up, or answered a request. Sleeping is no pause: the loop
 * wakes up when a ring fills.
 */
#ifndef VMOP_DAEMON_PAUSE_H
#define VMOP_DAEMON_PAUSE_H

#include <stdint.h>

struct vmop_pause {
	uint64_t drained_ns; /* CLOCK_MONOTONIC, when the rings were last emptied; 0: never */
	uint64_t longest_ns;
};

/*
 * A pause ends now, because the rings are being emptied or the thread goes to sleep. It began when
 * they were last emptied, or when the thread woke up at woken_ns.
 */
static inline void vmop_pause_end(struct vmop_pause *pause, uint64_t woken_ns, uint64_t now_ns)
{
	uint64_t begun_ns = pause->drained_ns > woken_ns ? pause->drained_ns : woken_ns;
	if (begun_ns && now_ns > begun_ns && now_ns - begun_ns > pause->longest_ns)
		pause->longest_ns = now_ns - begun_ns;
}

#endif
