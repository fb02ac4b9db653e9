// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Samples the blocked threads of one passive guest (--off-cpu): reads its threads from time to
 * time, and unwinds the stacks of those that wait.
 *
 * A round costs in proportion to what happened in the guest. If its CPUs switched no threads since
 * the last round, nothing is read. Else each thread is looked at, and only the stacks of those that
 * ran meanwhile are read and unwound.
 *
 * A thread that waits in a round counts as blocked since the round before. So the times of a thread
 * that always waits add up to the length of the session, at any rate.
 *
 * Rounds are due on a grid of periods, each at a random place around its point: else a program that
 * works at the same rhythm would always be seen at the same moment.
 *
 * Thread: that of the vmop_guest; vmop_blocked_sampler_publish() needs the lock of the batch.
 * The guest's data are hostile: threads, frames and files are bounded.
 */
#ifndef VMOP_DAEMON_GUEST_OFF_CPU_SAMPLER_H
#define VMOP_DAEMON_GUEST_OFF_CPU_SAMPLER_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/guest/off-cpu/batch.h"
#include "libguest/guest.h"
#include "libutil/error.h"
#include "libutil/setup.h"

struct vmop_blocked_sampler;
struct vmop_guest_orc_tables;

/* Threads that are kept between rounds; others are counted as refused. */
#define VMOP_BLOCKED_THREADS_MAX 16384u

/*
 * Create a sampler for a guest whose kernel was found, and whose symbols have not been dropped.
 * guest must outlive it. The caller owns *ret. The only error is that of memory.
 */
struct vmop_error *vmop_blocked_sampler_create(struct vmop_guest *guest,
					       const struct vmop_off_cpu *options,
					       struct vmop_blocked_sampler **ret);
void vmop_blocked_sampler_destroy(struct vmop_blocked_sampler *sampler); /* NULL is allowed */

/* Return when the next round is due, in CLOCK_MONOTONIC. */
uint64_t vmop_blocked_sampler_due_ns(const struct vmop_blocked_sampler *sampler);

/*
 * Read the guest's threads at now_ns. tables: of its kernel. snapshot: its processes, not older
 * than some seconds. share_permille: the CPU time that rounds may take, in thousandths of one CPU;
 * the next round is later if they take more. Errors as vmop_guest_each_thread().
 */
struct vmop_error *vmop_blocked_sampler_round(struct vmop_blocked_sampler *sampler,
					      const struct vmop_guest_orc_tables *tables,
					      const struct vmop_guest_snapshot *snapshot,
					      unsigned share_permille, uint64_t now_ns);

/* Return whether the last round saw a process that snapshot did not have. */
bool vmop_blocked_sampler_wants_list(const struct vmop_blocked_sampler *sampler);

/* Add the blocked threads of the last round to *batch, which is created if it is NULL. */
void vmop_blocked_sampler_publish(struct vmop_blocked_sampler *sampler,
				  struct vmop_blocked_batch **batch);

/* Set *ret to the counts since the sampler was created. */
void vmop_blocked_sampler_facts(const struct vmop_blocked_sampler *sampler,
				struct vmop_blocked_facts *ret);

#endif
