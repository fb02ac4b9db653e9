// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Draw charts into files: SVG, PNG, PDF and EPS.
 *
 * Data meets the files of this folder in this order:
 *   chart-settings  the options of the command line
 *   chart-rows, chart-times   make charts of a query's result
 *   chart           the numbers and names
 *   chart-output    makes the picture and writes it
 *   chart-page      what stands above the figure, and the room for it
 *   bars, bubbles, timeline, heat   the figures; with category-labels, mode-mark, time-axis, scale
 *   picture         shapes and measured texts, in the colours of palette
 *   painter         paints them by cairo
 */
#ifndef VMOP_OPREPORT_CHARTS_CHART_OUTPUT_H
#define VMOP_OPREPORT_CHARTS_CHART_OUTPUT_H

#include <stdio.h>

#include "libutil/error.h"
#include "opreport/charts/chart-format.h"
#include "opreport/charts/chart.h"

struct vmop_chart_options {
	enum vmop_chart_format format;
	unsigned width, height; /* 0: chosen for the chart */
};

/* Return VMOP_ERROR_CANT if vmop is built without cairo, before an output file is made. */
struct vmop_error *vmop_chart_check_build(void);

/*
 * Write the chart to out.  The same chart gives the same bytes.  VMOP_ERROR_LIMIT: more than the
 * bounds in chart.h, or a size in which the chart has no room; VMOP_ERROR_CANT: vmop is built
 * without cairo, or there is no font.  The caller checks ferror(out).
 */
struct vmop_error *vmop_chart_print(const struct vmop_chart *chart,
				    const struct vmop_chart_options *options, FILE *out);

/*
 * Lay the chart out on a page; a width or height of 0 is chosen for the chart.  The caller
 * deinitialises ret (picture.h) also after an error.  For tests.
 */
struct vmop_picture;
struct vmop_error *vmop_chart_lay_out(const struct vmop_chart *chart, unsigned width,
				      unsigned height, struct vmop_picture *ret);

#endif
