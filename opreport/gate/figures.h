// SPDX-License-Identifier: GPL-2.0-or-later
/* The values that bounds are compared with. */
#ifndef VMOP_OPREPORT_GATE_FIGURES_H
#define VMOP_OPREPORT_GATE_FIGURES_H

#include "opreport/arrange/session.h"
#include "opreport/gate/bound.h"
#include "opreport/query/query.h"

/* Return the dimensions that a query needs for the bound. */
unsigned vmop_figure_dimensions(const struct vmop_bound *bound);

/* Samples of one kind of loss, or of all kinds of samples that were dropped, and those stored. */
struct vmop_lost {
	uint64_t lost, stored;
};

/*
 * Count the losses of a result's sessions within its time; name NULL: all dropped samples. Sessions
 * that are copies of others, and so left out altogether, do not count.  The sessions are open.
 */
struct vmop_error *vmop_figure_lost(const struct vmop_sessions *sessions,
				    const struct vmop_result *result, const char *name,
				    struct vmop_lost *ret);

/* Return whether a row, of a query with the bound's dimensions, matches the bound's word. */
bool vmop_figure_matches(const struct vmop_bound *bound, struct vmop_result *result,
			 struct vmop_row *row);

/* Return the share in percent of a row in the first event. */
double vmop_figure_of_row(const struct vmop_result *result, const struct vmop_row *row);

/* Return the share in percent of the rows that match, or of samples without an image. */
double vmop_figure_of_rows(const struct vmop_bound *bound, struct vmop_result *result);

/*
 * Set *ret to the value of the bound's ratio.  VMOP_ERROR_USAGE: it has no events, or too few
 * samples.
 */
struct vmop_error *vmop_figure_of_ratio(const struct vmop_bound *bound,
					const struct vmop_words *ratios,
					const struct vmop_result *result, double *ret);

#endif
