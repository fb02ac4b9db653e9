// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A bound of --fail-if: "[each ]FIGURE OP NUMBER[%]", OP one of > >= < <=.
 *
 *	domain:GLOB image:GLOB symbol:GLOB task:GLOB cgroup:GLOB
 *			   the share of all rows that match, in percent; with "each" of any row
 *	steal:GLOB	   the waits of guests' vCPUs for a CPU, in percent of their time
 *	unattributed	   the share of samples without an image
 *	lost		   samples that were dropped, as a share of all that were taken; or, without
 *			   %, their number
 *	lost:NAME	   one kind of loss, likewise: vmop-session(5) lists them
 *	RATIO		   ipc, cpi, mpki, or the name of a --ratio: a number
 */
#ifndef VMOP_OPREPORT_GATE_BOUND_H
#define VMOP_OPREPORT_GATE_BOUND_H

#include <stdbool.h>

#include "libutil/error.h"

enum vmop_figure_kind {
	VMOP_GATE_DOMAIN,
	VMOP_GATE_IMAGE,
	VMOP_GATE_SYMBOL,
	VMOP_GATE_TASK,
	VMOP_GATE_CGROUP,
	VMOP_GATE_UNATTRIBUTED,
	VMOP_GATE_LOST,
	VMOP_GATE_RATIO,
	VMOP_GATE_STEAL,
};

enum vmop_bound_op { VMOP_ABOVE, VMOP_AT_LEAST, VMOP_BELOW, VMOP_AT_MOST };

struct vmop_bound {
	const char *text; /* as the user wrote it, not owned */
	bool each;
	enum vmop_figure_kind kind;
	char *word; /* GLOB, NAME or RATIO; NULL: none */
	enum vmop_bound_op op;
	bool is_percent;
	double limit;
};

/*
 * Parse a bound; text must outlive it.  VMOP_ERROR_USAGE has the text and the accepted forms.  The
 * caller deinitialises ret also after an error.
 */
struct vmop_error *vmop_bound_parse(const char *text, struct vmop_bound *ret);
void vmop_bound_deinit(struct vmop_bound *bound);

/* Return the error of a bound that is not understood, with the accepted forms. */
struct vmop_error *vmop_bound_malformed(const char *text);

/* Return whether a value, in percent where the bound is, crosses the bound. */
bool vmop_bound_is_crossed(const struct vmop_bound *bound, double value);

/* Return whether the figure is a share of rows by name. */
static inline bool vmop_bound_is_of_rows(const struct vmop_bound *bound)
{
	return bound->kind <= VMOP_GATE_CGROUP;
}

#endif
