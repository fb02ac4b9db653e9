// SPDX-License-Identifier: GPL-2.0-or-later
/* Slots that are steps of local time: see time-slots.h, whose vmop_time_slots_init_steps is here.
 */
#ifndef VMOP_OPREPORT_QUERY_TIME_STEPS_H
#define VMOP_OPREPORT_QUERY_TIME_STEPS_H

#include "opreport/query/overlap.h"
#include "opreport/query/time-slots.h"

/*
 * Make slots of intervals in any order.  Slots ascend and do not overlap, and each contains the
 * middles of its intervals.
 */
struct vmop_error *vmop_time_steps_make(struct vmop_time_slots *ret,
					const struct vmop_span *intervals, size_t n,
					uint64_t step_s);

/* Return a step that divides a span of time into at most 60. */
uint64_t vmop_time_steps_choose(uint64_t span_ns);

/* Return the index of the slot with the interval's middle, or VMOP_NO_TIME_SLOT. */
uint32_t vmop_time_steps_find(const struct vmop_time_slots *slots,
			      const struct vmop_db_interval *interval);

#endif
