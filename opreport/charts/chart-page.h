// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The page around a figure: title, facts, notes and legend above it, and the room that is left.
 *
 * Callers: chart-output.c begins a page; the figures draw their legend and themselves into its
 * body.
 */
#ifndef VMOP_OPREPORT_CHARTS_CHART_PAGE_H
#define VMOP_OPREPORT_CHARTS_CHART_PAGE_H

#include <stdbool.h>

#include "libutil/error.h"
#include "opreport/charts/chart.h"
#include "opreport/charts/picture.h"

#define VMOP_CHART_PAGE_MARGIN 14.0

struct vmop_chart_page {
	const struct vmop_chart *chart;
	struct vmop_picture *picture;
	struct vmop_box body; /* height 0: as much as the figure needs, see vmop_chart_page_take */
	bool is_fixed;	      /* the user chose the height */
};

/* Items in lines from left to right, as in a legend. */
struct vmop_flow {
	struct vmop_chart_page *page;
	double x; /* where the next item begins */
};

/* Draw what stands above the figure.  height 0: the page grows with the figure. */
void vmop_chart_page_begin(struct vmop_chart_page *ret, const struct vmop_chart *chart,
			   struct vmop_picture *picture, double height);

/*
 * Add an item to a flow, and move to the next line where it has no room.  fill NULL: no swatch.
 * The flow begins at the upper left corner of the page's body.
 */
void vmop_flow_add(struct vmop_flow *flow, const struct vmop_fill *fill, const char *text,
		   const struct vmop_text_style *style);

/* End a flow: the body begins below it. */
void vmop_flow_end(struct vmop_flow *flow, const struct vmop_text_style *style);

/* Draw the names of the series, and of the marks of modes if there are any. */
void vmop_chart_page_legend(struct vmop_chart_page *page);

/* Return the fill of a series. */
struct vmop_fill vmop_chart_page_fill(const struct vmop_chart_page *page, size_t series);

/*
 * Set the height of the body: at least min, and wanted if the page grows.  VMOP_ERROR_LIMIT: the
 * user's page has no room for min.
 */
struct vmop_error *vmop_chart_page_take(struct vmop_chart_page *page, double min, double wanted);

#endif
