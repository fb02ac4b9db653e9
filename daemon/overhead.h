// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The daemon's own share of the CPUs' time, and the rate of samples that keeps it below a limit.
 *
 * It counts the CPU time of all threads of the daemon, and that of its BPF programs at samples of
 * guests. It does not count the kernel's own work at a sampling interrupt, which belongs to no
 * process: about a microsecond a sample.
 */
#ifndef VMOP_DAEMON_OVERHEAD_H
#define VMOP_DAEMON_OVERHEAD_H

#include <stdbool.h>
#include <stdint.h>

/* The lowest rate is one sample of this many. */
#define VMOP_OVERHEAD_MOST_DIVISOR 64u

struct vmop_overhead {
	unsigned limit_permyriad;	 /* of the time of all CPUs, in 1/10000; 0: no limit */
	unsigned divisor;		 /* one of this many samples is taken: 1, 2, 4 .. 64 */
	uint64_t window_ns;		 /* the time over which is measured */
	uint64_t begun_ns, begun_cpu_ns; /* of the window; begun_ns 0: none yet */
	bool is_warm;			 /* the first window is over, which reads symbols */
	unsigned n_quiet;		 /* windows in sequence with room for a higher rate */
	double used_permyriad;		 /* in the last window; negative: not known */
	bool is_beyond;			 /* the limit is exceeded at the lowest rate */
};

/* Begin at the full rate, for a session with this flush interval. */
void vmop_overhead_init(struct vmop_overhead *overhead, unsigned limit_permyriad,
			uint64_t flush_ns);

/*
 * Take the CPU time that the daemon has used until now (CLOCK_MONOTONIC). At the end of a window,
 * lower the rate if the limit is exceeded, to a quarter at most; double it after six windows that
 * leave room for that. Return whether the divisor has changed.
 */
bool vmop_overhead_check(struct vmop_overhead *overhead, uint64_t now_ns, uint64_t cpu_ns,
			 uint32_t n_cpus);

#endif
