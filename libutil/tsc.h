// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The processor's time-stamp counter beside CLOCK_MONOTONIC. A KVM guest's counter is its host's
 * times a factor plus an offset, so that pairs of both machines put their clocks side by side.
 */
#ifndef VMOP_LIBUTIL_TSC_H
#define VMOP_LIBUTIL_TSC_H

#include <stdbool.h>
#include <stdint.h>

struct vmop_tsc_pair {
	uint64_t tsc; /* the middle of the reads before and after that of the clock */
	uint64_t time_ns;
	uint64_t width_ticks; /* between those reads: tsc is wrong by at most the half */
};

/* Read a pair, the narrowest of a few. Return false on machines without a time-stamp counter. */
bool vmop_tsc_read(struct vmop_tsc_pair *ret);

#endif
