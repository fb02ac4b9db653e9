// SPDX-License-Identifier: GPL-2.0-or-later
/* Bars and bubbles of a query's rows: one category a function, image or task, one series a domain.
 */
#ifndef VMOP_OPREPORT_CHARTS_CHART_ROWS_H
#define VMOP_OPREPORT_CHARTS_CHART_ROWS_H

#include "opreport/charts/report-chart.h"

/*
 * Fill in the categories, series and values of a BARS or BUBBLES chart.  Rows of different domains
 * with equal names are one category.  In a bill by domain, the domains are the categories, and the
 * parts of the bill the series.  The result's rows are sorted by samples.
 */
struct vmop_error *vmop_chart_rows_fill(struct vmop_report_chart *chart);

#endif
