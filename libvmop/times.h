// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Times inside the library. times.c opens and compares; time-sample.c reads the clocks. vmop.h has
 * the contract.
 */
#ifndef VMOP_LIBVMOP_TIMES_H
#define VMOP_LIBVMOP_TIMES_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "hv-interface/bpf/run-time.h"
#include "libutil/error.h"
#include "libvmop/vmop.h"

/* All clocks at one moment. */
struct vmop_time_sample {
	uint64_t real_ns, virtual_ns, user_ns, system_ns, stolen_ns, n_tasks;
	struct vmop_machine_time machine; /* only for estimates */
	bool is_machine_known, is_incomplete;
};

struct vmop_times {
	uint32_t scope; /* enum vmop_scope */
	pid_t tid;	/* of THREAD: whose */
	struct vmop_steal_clock clock;
	enum vmop_subtracts subtracts;
	struct vmop_run_time *run_time;	  /* NULL: no BPF program */
	struct vmop_error *no_bpf;	  /* the reason; NULL: there is one */
	struct vmop_counters *task_clock; /* of a process without BPF program */
	struct vmop_time_sample opened, begun;
	bool has_begun;
	char *reason; /* of the last result */
};

/* Read the clocks that the handle has. */
struct vmop_error *vmop_time_sample_read(struct vmop_times *times, bool is_begin,
					 struct vmop_time_sample *ret);

#endif
