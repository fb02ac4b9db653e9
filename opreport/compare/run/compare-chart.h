// SPDX-License-Identifier: GPL-2.0-or-later
/* Draw the rows of a comparison as a chart: the sides of each row next to one another. */
#ifndef VMOP_OPREPORT_COMPARE_RUN_COMPARE_CHART_H
#define VMOP_OPREPORT_COMPARE_RUN_COMPARE_CHART_H

#include <stdio.h>

#include "libutil/error.h"
#include "opreport/charts/chart-output.h"
#include "opreport/compare/comparison.h"
#include "opreport/compare/order.h"

/* A chart to be drawn. */
struct vmop_compare_chart {
	const struct vmop_comparison *comparison;
	size_t event;
	enum vmop_chart_kind kind; /* BARS or BUBBLES */
	struct vmop_chart_options options;
	struct vmop_ordering ordering; /* top 0: as many rows as a chart can have */
	const char *title;
};

/*
 * Write the chart to out: bars with their 99 % intervals, and a last group with the sum of the
 * other rows.  VMOP_ERROR_CANT: vmop is built without charts.  The caller checks ferror(out).
 */
struct vmop_error *vmop_compare_chart_print(const struct vmop_compare_chart *chart, FILE *out);

#endif
