// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Stops of the machine. A machine that is suspended in the middle of a task's run adds the whole
 * time to that run, and no steal clock has it. It shows in this program's own waits: they last
 * longer than they were to.
 */
#ifndef VMOP_LIBVMOP_STAT_TIME_STOPS_H
#define VMOP_LIBVMOP_STAT_TIME_STOPS_H

#include <stdbool.h>
#include <stdint.h>

#include "hv-interface/steal-clock.h"

struct vmop_stat_accounts {
	uint64_t now_ns;   /* CLOCK_MONOTONIC */
	uint64_t delay_ns; /* how long this program waited for a CPU */
	struct vmop_machine_time machine;
};

/* Read them. False: the kernel does not count them. */
bool vmop_stat_accounts_read(struct vmop_stat_accounts *ret);

/*
 * Return how long the machine stood still between two readings, in ns; 0: it did not, or for less
 * than half a second. late_ns: how much later than it was to this program's wait between them
 * ended.
 */
uint64_t vmop_stat_stop_between(const struct vmop_stat_accounts *before,
				const struct vmop_stat_accounts *after, uint64_t late_ns);

#endif
