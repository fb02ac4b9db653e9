// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The counts of vmopstat: from one set of counters for a process, or from one for each CPU. CPUs
 * come and go meanwhile.
 */
#ifndef VMOP_LIBVMOP_STAT_COUNTS_H
#define VMOP_LIBVMOP_STAT_COUNTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "libutil/error.h"

/* One event since the start, over all CPUs. */
struct vmop_stat_count {
	double value; /* with the share of the time in which the event had no counter */
	uint64_t enabled_ns, running_ns;
	bool is_estimate; /* some of it is scaled */
	bool is_counted;  /* false: not available, or never on a counter */
};

struct vmop_stat_counts;

/* Count a process: from its next execve(2) if on_exec, else after vmop_stat_counts_start(). */
struct vmop_error *vmop_stat_counts_open_process(const char *events, pid_t pid, bool on_exec,
						 struct vmop_stat_counts **ret);
/* Count the threads of a guest's vCPUs; events of a PMU only while the guest runs. */
struct vmop_error *vmop_stat_counts_open_vcpus(const char *events, const pid_t *tids, size_t n,
					       struct vmop_stat_counts **ret);
/* Count all online CPUs. */
struct vmop_error *vmop_stat_counts_open_cpus(const char *events, struct vmop_stat_counts **ret);
void vmop_stat_counts_close(struct vmop_stat_counts *counts); /* NULL is allowed */

/* Start to count. A set that counts from an execve(2) on needs no start. */
struct vmop_error *vmop_stat_counts_start(struct vmop_stat_counts *counts);

/* Read all into ret, which has vmop_stat_counts_n() elements. Follows CPUs that came and went. */
struct vmop_error *vmop_stat_counts_read(struct vmop_stat_counts *counts,
					 struct vmop_stat_count *ret);

size_t vmop_stat_counts_n(const struct vmop_stat_counts *counts);
const char *vmop_stat_counts_name(const struct vmop_stat_counts *counts, size_t i);
bool vmop_stat_counts_is_time(const struct vmop_stat_counts *counts, size_t i); /* in ns */
/* Return NULL, or why the i-th event is not counted anywhere. */
const char *vmop_stat_counts_reason(const struct vmop_stat_counts *counts, size_t i);
/* Return how often a CPU went offline or came online. */
unsigned vmop_stat_counts_cpu_changes(const struct vmop_stat_counts *counts);

#endif
