// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What is sampled when the machine refuses an event: the one place where
 * something else may be chosen, and never without a note that says so.
 */
#ifndef VMOP_HV_INTERFACE_PERF_CHOICE_H
#define VMOP_HV_INTERFACE_PERF_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

#include "hv-interface/perf/cpu.h"
#include "libutil/error.h"

/* The plan's events as requested; with none requested, "default".  root: as in perf/pmu.h. */
struct vmop_error *vmop_perf_choice_first(const struct vmop_event_request *requests,
					  size_t n_requests, const char *root,
					  struct vmop_perf_plan *ret);

/*
 * Changes the plan after a refusal so that opening is worth another try, or says why
 * that can't be: with the clock for events that count cycles, with the PMU for the
 * host and the clock for guests where a mediated vPMU keeps the PMU to itself, less
 * precisely where the PMU can't do it as asked.
 * Can't go on for ever: no event is changed more than six times.
 */
struct vmop_error *vmop_perf_choice_next(struct vmop_perf_plan *plan,
					 const struct vmop_perf_refusal *refusal);

/*
 * Whether VMs can't start because of the plan: a mediated vPMU was switched on after a PMU
 * event that counts guests was opened.  Cheap enough to be asked every second.
 */
bool vmop_perf_choice_blocks_vms(const struct vmop_perf_plan *plan);

void vmop_perf_plan_deinit(struct vmop_perf_plan *plan);

#endif
