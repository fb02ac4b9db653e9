// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/tsc.h"

#include "libutil/clock.h"

#if defined(__x86_64__)
#include <x86intrin.h>

#define READS 5 /* one of them is not interrupted */

/* Read the counter in program order. Processors of some virtual machines have no rdtscp. */
static uint64_t read_counter(void)
{
	_mm_lfence();
	uint64_t tsc = __rdtsc();
	_mm_lfence();
	return tsc;
}

static void read_once(struct vmop_tsc_pair *ret)
{
	uint64_t before = read_counter();
	ret->time_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	uint64_t after = read_counter();
	/* A thread that moves between CPUs with different counters has no width. */
	ret->width_ticks = after - before;
	ret->tsc = before + ret->width_ticks / 2;
}

bool vmop_tsc_read(struct vmop_tsc_pair *ret)
{
	read_once(ret);
	for (unsigned i = 1; i < READS; i++) {
		struct vmop_tsc_pair pair;
		read_once(&pair);
		if (pair.width_ticks < ret->width_ticks)
			*ret = pair;
	}
	return true;
}
#else
bool vmop_tsc_read(struct vmop_tsc_pair *ret)
{
	*ret = (struct vmop_tsc_pair){.time_ns = vmop_clock_ns(CLOCK_MONOTONIC)};
	return false;
}
#endif
