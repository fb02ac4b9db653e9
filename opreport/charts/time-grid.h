// SPDX-License-Identifier: GPL-2.0-or-later
/* The steps of a chart's time: how long they are, and which samples of a slot lie in which step. */
#ifndef VMOP_OPREPORT_CHARTS_TIME_GRID_H
#define VMOP_OPREPORT_CHARTS_TIME_GRID_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "opreport/query/time-slots.h"

struct vmop_time_grid {
	uint64_t origin_ns; /* of the sessions: steps begin at its multiples */
	uint64_t start_ns, step_ns;
	size_t n_steps;
	size_t steps_per_column; /* of a heat map; else 0 */
	uint64_t finest_ns;	 /* most of the time is stored by intervals of this length */
	double *covered_ns;	 /* n_steps: time of the slots in each step */
	bool *is_coarse;	 /* n_steps: some of it is of a slot of several steps */
	char note[160];
};

/*
 * Choose the steps for the slots within [from_ns, to_ns), to_ns 0: no end, of sessions that began
 * at origin_ns.  A heat map's step is the finest of 0.1 s, 1 s, 10 s, 1 min, 1 h, 1 day that the
 * store has and the page has room for.  No slot is VMOP_ERROR_NOT_FOUND.  The caller deinitialises
 * ret also after an error.
 */
struct vmop_error *vmop_time_grid_init(struct vmop_time_grid *ret,
				       const struct vmop_time_slots *slots, uint64_t origin_ns,
				       uint64_t from_ns, uint64_t to_ns, bool is_heat);
void vmop_time_grid_deinit(struct vmop_time_grid *grid);

/* Add a value of a slot to values[0..n_steps), by the time that each step has of it. */
void vmop_time_grid_spread(const struct vmop_time_grid *grid, const struct vmop_time_slot *slot,
			   double value, double *values);

/* Return a note on samples whose time is not known as finely as the steps, or NULL. */
const char *vmop_time_grid_note(const struct vmop_time_grid *grid);

#endif
