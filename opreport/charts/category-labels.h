// SPDX-License-Identifier: GPL-2.0-or-later
/* The names and marks of categories, in a column at the left of bars and bubbles. */
#ifndef VMOP_OPREPORT_CHARTS_CATEGORY_LABELS_H
#define VMOP_OPREPORT_CHARTS_CATEGORY_LABELS_H

#include "opreport/charts/chart-page.h"

struct vmop_category_labels {
	double width; /* of the column, with its marks and the gap behind it */
	double marks_width;
	double line_height, small_height;
};

/* Measure the labels of the page's chart.  The column takes at most `share` of the body's width. */
struct vmop_category_labels vmop_category_labels_measure(const struct vmop_chart_page *page,
							 double share);

/* Draw the label of a category beside a row of that height, which begins at y. */
void vmop_category_labels_draw(const struct vmop_category_labels *labels,
			       const struct vmop_chart_page *page, size_t category, double y,
			       double height);

/*
 * Return how many of the chart's categories the body shows, and set *ret_pitch to the height of
 * each: the body's height is shared, and a category needs at least min_pitch.
 */
size_t vmop_category_labels_fit(const struct vmop_chart_page *page, double height, double min_pitch,
				double *ret_pitch);

#endif
