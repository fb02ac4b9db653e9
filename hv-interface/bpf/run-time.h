// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The CPU time of tasks with the part in which the hypervisor ran others, measured by a BPF program
 * at each switch of the scheduler: run-time.bpf.c, which run-time.c loads and run-time-tasks.c
 * reads. This header is libvmop's contract.
 *
 * A handle is for one thread at a time. A vmop that was built without libbpf has run-time-none.c
 * instead: nothing loads.
 */
#ifndef VMOP_HV_INTERFACE_BPF_RUN_TIME_H
#define VMOP_HV_INTERFACE_BPF_RUN_TIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "hv-interface/bpf/run-time-sums.h"
#include "hv-interface/steal-clock.h"
#include "libutil/error.h"

struct vmop_run_time;

/* Does this kernel take stolen time out of its tasks' CPU time? */
enum vmop_subtracts { VMOP_SUBTRACTS_UNKNOWN, VMOP_SUBTRACTS_NO, VMOP_SUBTRACTS_YES };

/*
 * Decide by the kernel's type information: with CONFIG_PARAVIRT_TIME_ACCOUNTING, `struct rq` has
 * prev_steal_time_rq. The parameter no-steal-acc turns it off. Needs no privilege.
 */
enum vmop_subtracts vmop_kernel_subtracts(void);

struct vmop_run_time_options {
	pid_t tid;  /* this thread only; 0: */
	pid_t tgid; /* the threads of this process, and the processes that they make; 0: all tasks
		     */
	struct vmop_steal_clock clock;
};

/*
 * Load the program and attach it. The caller owns *ret. VMOP_ERROR_CANT: the machine does not
 * permit it, with the reason in one line.
 */
struct vmop_error *vmop_run_time_create(const struct vmop_run_time_options *options,
					struct vmop_run_time **ret);
void vmop_run_time_destroy(struct vmop_run_time *run_time); /* NULL is allowed */

/* As vmop_kernel_subtracts(), by the kernel's own variable where that can be read. */
enum vmop_subtracts vmop_run_time_subtracts(const struct vmop_run_time *run_time);

struct vmop_run_time_task {
	uint64_t start_ns; /* orders the tasks with the same numbers */
	pid_t tid, tgid;
	char comm[17];
	bool has_ended;
	struct vmop_run_time_sums sums;
};

/* Take the times until now, also of the tasks that run at this moment. */
struct vmop_error *vmop_run_time_read(struct vmop_run_time *run_time);

/* The following are of the last vmop_run_time_read(). */

/*
 * Return the tasks, ordered by tgid, tid and start, valid until the next read. Those that ended are
 * among them, up to VMOP_RUN_TIME_MAX_ENDED.
 */
#define VMOP_RUN_TIME_MAX_ENDED 100000
const struct vmop_run_time_task *vmop_run_time_tasks(const struct vmop_run_time *run_time,
						     size_t *ret_n);
struct vmop_run_time_facts {
	struct vmop_run_time_sums total; /* of all tasks */
	uint64_t n_tasks;
	uint64_t n_unlisted; /* ended tasks that only total has */
	uint64_t n_refused;  /* tasks that were not counted at all: too many lived at once */
};
void vmop_run_time_facts(const struct vmop_run_time *run_time, struct vmop_run_time_facts *ret);

/* Read one thread's stolen time until now: of the calling one, opened by its tid. Cheaper than
 * read. */
bool vmop_run_time_own_steal(const struct vmop_run_time *run_time, uint64_t *ret_steal_ns);

#endif
