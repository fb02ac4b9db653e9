// SPDX-License-Identifier: GPL-2.0-or-later
/* Times of a task since it was first seen, or of several tasks; the BPF program uses it too. */
#ifndef VMOP_HV_INTERFACE_BPF_RUN_TIME_SUMS_H
#define VMOP_HV_INTERFACE_BPF_RUN_TIME_SUMS_H

#include <stdint.h>

struct vmop_run_time_sums {
	uint64_t run_ns;     /* on a CPU, by CLOCK_MONOTONIC */
	uint64_t steal_ns;   /* of it, the hypervisor ran others; 0 without a steal clock */
	uint64_t virtual_ns; /* as the kernel accounts it, also for getrusage(2) */
	/*
	 * virtual_ns, divided as the kernel does: by its ticks. In the program's maps these are the
	 * ticks themselves, in ns.
	 */
	uint64_t user_ns, system_ns;
	uint64_t n_runs;
};

static inline void vmop_run_time_sums_add(struct vmop_run_time_sums *to,
					  const struct vmop_run_time_sums *from)
{
	to->run_ns += from->run_ns;
	to->steal_ns += from->steal_ns;
	to->virtual_ns += from->virtual_ns;
	to->user_ns += from->user_ns;
	to->system_ns += from->system_ns;
	to->n_runs += from->n_runs;
}

#endif
