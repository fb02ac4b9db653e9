// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The handed source: an active guest's samples as its KVM host takes them, without a virtual PMU.
 * This guest's own records show which task ran on each vCPU at the time of a sample.
 *
 * Callers use it as a struct vmop_source (source.h). Data meets the folder's files in this order:
 *
 * Opening: events.h reads the host's events; handed.c opens the side-band of perf (perf/perf.h),
 * with the scheduler's switches and no sampling.
 *
 * Draining: feed.h keeps the host's samples and its clock; clock.h converts a sample's time to this
 * guest's; turns.h has the tasks of each CPU; handed.c puts samples and records in one order.
 *
 * Records wait until the host's samples up to their time are there, at most two seconds. A sample
 * that comes later still finds its task, but the mappings may be newer ones.
 *
 * The host numbers vCPUs from 0, as this guest's kernel numbers its CPUs. A sample whose task is
 * not certain has one of the pids in vmop/record.h. Where the host records call stacks, a sample
 * has the addresses of its callers, as if this guest's kernel had unwound them. User frames of an
 * uncertain task are left out. Samples of guests that this guest runs itself are theirs.
 */
#ifndef VMOP_HV_INTERFACE_HANDED_HANDED_H
#define VMOP_HV_INTERFACE_HANDED_HANDED_H

#include "hv-interface/source.h"

/* For opening, vmop_source_setup.feed must be set. */
extern const struct vmop_source_ops vmop_source_handed_ops;

/*
 * Open the source over a given side-band, which it owns from now on, also on errors, for a machine
 * of n_cpus. For tests.
 */
struct vmop_error *vmop_handed_open_over(struct vmop_source *side_band,
					 struct vmop_handed_feed *feed, size_t n_cpus,
					 struct vmop_source **ret);

#endif
