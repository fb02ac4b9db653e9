// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The substitutes for events that the machine refuses. No other file replaces an event, and each
 * replacement leaves a note.
 *
 * perf/perf.c is the caller: first resolves the requests, next follows each refusal.
 */
#ifndef VMOP_HV_INTERFACE_PERF_CHOICE_H
#define VMOP_HV_INTERFACE_PERF_CHOICE_H

#include <stdbool.h>
#include <stddef.h>

#include "hv-interface/perf/cpu.h"
#include "libutil/error.h"

/*
 * Fill the plan with the requested events; without requests, with "default". root: see perf/pmu.h.
 * After an error the plan holds nothing to free but what vmop_perf_plan_deinit frees.
 */
struct vmop_error *vmop_perf_choice_first(const struct vmop_event_request *requests,
					  size_t n_requests, const char *root,
					  struct vmop_perf_plan *ret);

/*
 * Change the plan after a refusal so that opening is worth another try, or return the error for the
 * user. Substitutes: an event without call stacks; the clock for events that count cycles; the PMU
 * for the host and the clock for guests where a mediated vPMU reserves the PMU; a lower level of
 * precision. The retries end, because no event is changed more than some twenty times.
 */
struct vmop_error *vmop_perf_choice_next(struct vmop_perf_plan *plan,
					 const struct vmop_perf_refusal *refusal);

/* Note which events have no call stacks, after all events of the plan were opened. */
struct vmop_error *vmop_perf_choice_note_stacks(struct vmop_perf_plan *plan);

/*
 * Return whether the plan keeps VMs from starting: a mediated vPMU was switched on after a PMU
 * event was opened that counts guests. Cheap enough for a call every second.
 */
bool vmop_perf_choice_blocks_vms(const struct vmop_perf_plan *plan);

void vmop_perf_plan_deinit(struct vmop_perf_plan *plan);

#endif
