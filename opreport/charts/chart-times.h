// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Timelines and heat maps of a query's rows by time (VMOP_BY_TIME).
 *
 * Samples have the time of their interval.  The steps of a chart are at least as long as most
 * intervals; an interval that is longer is spread over its steps evenly, and these are coarse.
 */
#ifndef VMOP_OPREPORT_CHARTS_CHART_TIMES_H
#define VMOP_OPREPORT_CHARTS_CHART_TIMES_H

#include "opreport/charts/report-chart.h"

/* The slots of time (query.h) that a query for a chart needs: some for each step. */
#define VMOP_CHART_TIMELINE_SLOTS 360
#define VMOP_CHART_HEAT_SLOTS 20000

/* Fill in the time, series and values of a TIMELINE or HEAT chart.  No time is
 * VMOP_ERROR_NOT_FOUND. */
struct vmop_error *vmop_chart_times_fill(struct vmop_report_chart *chart);

#endif
