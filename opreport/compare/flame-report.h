// SPDX-License-Identifier: GPL-2.0-or-later
/* Draw the call stacks of two sides as one flame graph. */
#ifndef VMOP_OPREPORT_COMPARE_FLAME_REPORT_H
#define VMOP_OPREPORT_COMPARE_FLAME_REPORT_H

#include "opreport/compare/request.h"

/* Groups of a flame graph's stacks (enum vmop_dimension), from the dimensions of --by. */
#define VMOP_COMPARED_GROUPS (VMOP_BY_DOMAIN | VMOP_BY_CGROUP | VMOP_BY_TASK)

/*
 * Run the queries of the request's two sides with their stacks, and print the flame graph of the
 * first event.  VMOP_ERROR_USAGE: there are more sides.
 */
struct vmop_error *vmop_compare_flamegraph(const struct vmop_compare_request *request);

#endif
