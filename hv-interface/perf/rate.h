// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A lower rate of samples than the set-up asks for: each of an event's counters gets a longer
 * period, or a lower frequency. Samples of a PMU carry the period as their weight; the weight of
 * others follows from their time (struct vmop_perf_decoder).
 */
#ifndef VMOP_HV_INTERFACE_PERF_RATE_H
#define VMOP_HV_INTERFACE_PERF_RATE_H

#include "hv-interface/perf/cpu.h"

/* Lower the rate in the attributes of an event that is to be opened. */
void vmop_perf_rate_set_attr(unsigned divisor, struct perf_event_attr *attr);

/*
 * Set the rate of the open events of a CPU. Its records from before the last change must have been
 * drained.
 */
struct vmop_error *vmop_perf_rate_set_cpu(struct vmop_perf_cpu *cpu,
					  const struct vmop_perf_plan *plan, unsigned divisor);

#endif
