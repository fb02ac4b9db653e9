// SPDX-License-Identifier: GPL-2.0-or-later
/* The maps' values and the settings, which both sides of the BPF program of run times share. */
#ifndef VMOP_HV_INTERFACE_BPF_RUN_TIME_LAYOUT_H
#define VMOP_HV_INTERFACE_BPF_RUN_TIME_LAYOUT_H

#include <stdint.h>

#include "hv-interface/bpf/run-time-sums.h"

#define VMOP_RUN_TIME_MAX_TASKS 65536	   /* that live at the same time */
#define VMOP_RUN_TIME_RING_BYTES (1 << 20) /* records of ended tasks, until they are read */

/* A task. The key is the address of its task_struct. */
struct vmop_run_time_entry {
	struct vmop_run_time_sums amounts;
	uint64_t start_ns; /* task_struct.start_time when it was first seen */
	uint64_t open_ns;  /* virtual time of the run that goes on, which amounts lacks */
	uint64_t user_base_ns, system_base_ns;
	uint32_t tid, tgid;
	char comm[16];
};

/* The ring: the record of an ended task. */
struct vmop_run_time_record {
	uint64_t task;
	struct vmop_run_time_entry entry;
};

/* A CPU, and the run that goes on there. */
struct vmop_run_time_cpu {
	uint64_t task;		     /* 0: none that is counted */
	uint64_t since_ns, steal_ns; /* both clocks at the last charge */
	/* When the run began. virtual: of sum_exec_runtime. */
	uint64_t begun_ns, begun_steal_ns, begun_virtual_ns;
	uint64_t is_seen_late; /* it ran already when it was first seen */
	uint64_t clock;	       /* address of the CPU's steal clock; 0: not computed yet */
	/* Ended tasks for which the ring had no room. */
	struct vmop_run_time_sums unrecorded;
	uint64_t n_unrecorded;
	uint64_t n_refused; /* tasks for which the map had no room */
};

/* Constants, set before the program is loaded. */
struct vmop_run_time_settings {
	uint64_t clock_variable, per_cpu_offsets; /* 0: the steal clock is not read */
	uint64_t static_key; /* its count shows that the kernel takes steal out; 0: unknown */
	uint32_t is_xen;
	/* The counted tasks: a thread, the threads of a process with its children, or all. */
	uint32_t tid, tgid;
	uint32_t reserved;
};
#define VMOP_RUN_TIME_SETTINGS_SECTION ".rodata.vmop"

/* The program's only variable. */
struct vmop_run_time_state {
	int32_t key_count; /* of settings.static_key, after vmop_look */
	/* Set by user space before the program is attached: steal is not in sum_exec_runtime. */
	uint32_t kernel_subtracts;
};
#define VMOP_RUN_TIME_STATE_SECTION ".bss"

#endif
