// SPDX-License-Identifier: GPL-2.0-or-later
/* The axis of time below timelines and heat maps, whose labels a spec time:+SPAN takes. */
#ifndef VMOP_OPREPORT_CHARTS_TIME_AXIS_H
#define VMOP_OPREPORT_CHARTS_TIME_AXIS_H

#include "opreport/charts/chart-page.h"

/*
 * Draw marks and labels below the plot, whose width is span_ns from the chart's start on.  unit_ns:
 * labels are at its multiples.
 */
void vmop_time_axis_draw(struct vmop_chart_page *page, const struct vmop_box *plot,
			 uint64_t span_ns, uint64_t unit_ns);

#endif
