// SPDX-License-Identifier: GPL-2.0-or-later
/* The run times, open to the files that implement run-time.h: run-time.c and run-time-tasks.c. */
#ifndef VMOP_HV_INTERFACE_BPF_RUN_TIME_OPEN_H
#define VMOP_HV_INTERFACE_BPF_RUN_TIME_OPEN_H

#include "hv-interface/bpf/loaded.h"
#include "hv-interface/bpf/run-time-layout.h"
#include "hv-interface/bpf/run-time.h"

struct vmop_run_time_node;

/* The result of the reads. */
struct vmop_run_time_table {
	struct vmop_run_time_node *nodes; /* uthash */
	struct vmop_run_time_task *tasks; /* of the last read */
	size_t n_tasks, capacity;
	uint64_t *keys; /* room for one read of the map */
	struct vmop_run_time_entry *entries;
	struct vmop_run_time_cpu *cpus;
	uint64_t n_ended; /* nodes that have ended */
	unsigned generation;
	struct vmop_run_time_sums unlisted;
	struct vmop_run_time_facts facts;
};

struct vmop_run_time {
	struct vmop_bpf_loaded loaded;
	struct ring_buffer *ring;
	int tasks_fd, cpus_fd, settle_fd;
	uint32_t n_cpus, max_tasks;
	enum vmop_subtracts subtracts;
	struct vmop_run_time_options options;
	struct vmop_error *err; /* of the ring's callback */
	struct vmop_run_time_table table;
};

struct vmop_error *vmop_run_time_table_init(struct vmop_run_time *run_time);
void vmop_run_time_table_deinit(struct vmop_run_time_table *table);

/* Take a record of the ring: libbpf's callback, whose context is the run time. */
int vmop_run_time_take_record(void *context, void *record, size_t len_bytes);

/* Charge the tasks that run now, on all CPUs. */
void vmop_run_time_settle(const struct vmop_run_time *run_time);

#endif
