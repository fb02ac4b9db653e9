// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Gate: bounds on what a report is of, for scripts: --fail-if and --fail-if-changed.
 *
 * Caller: vmopreport.c, after the report.  A gate runs queries of its own, since its rows need not
 * be those of the report.  Data meets the files of this folder in this order:
 *   gate-options  takes the options
 *   bound         parses a bound and compares a value with it
 *   figures       the values of bounds, from a query's result and from losses
 *   shares        rows by name that outlive their sessions; shares-json reads them from a report
 *   baseline      loads the rows to compare with
 *   change        compares the rows of both sides
 */
#ifndef VMOP_OPREPORT_GATE_GATE_H
#define VMOP_OPREPORT_GATE_GATE_H

#include "opreport/gate/baseline.h"
#include "opreport/gate/gate-options.h"

struct vmop_gate_request {
	const struct vmop_gate_options *options;
	const struct vmop_spec *spec;	 /* of the samples to check */
	struct vmop_side_words words;	 /* the same, as words */
	const struct vmop_words *ratios; /* of --ratio */
	struct vmop_query query;	 /* the report's; a gate changes the dimensions */
	unsigned by;			 /* dimensions of the rows that are compared */
};

/* Violations that are logged; then "and N more". */
#define VMOP_GATE_LINES_MAX 1000

/*
 * Check all bounds.  Logs a line for each violation and sets *ret_violations to their number.  An
 * error means that not all could be checked.
 */
struct vmop_error *vmop_gate_run(const struct vmop_gate_request *request, size_t *ret_violations);

#endif
