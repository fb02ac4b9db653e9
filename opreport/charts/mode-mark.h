// SPDX-License-Identifier: GPL-2.0-or-later
/* The marks of a category: whether its samples are of user or kernel code, or the hypervisor's. */
#ifndef VMOP_OPREPORT_CHARTS_MODE_MARK_H
#define VMOP_OPREPORT_CHARTS_MODE_MARK_H

#include <stdbool.h>
#include <stddef.h>

#include "opreport/charts/chart.h"
#include "opreport/charts/picture.h"

#define VMOP_MODE_LEGEND_BYTES 96

/* Write which letter stands for which mode, of the modes in the chart.  False: there are none. */
bool vmop_mode_legend(const struct vmop_chart *chart, char ret[VMOP_MODE_LEGEND_BYTES]);

/* Return the width of the column that the marks of the chart need, 0: none. */
double vmop_mode_marks_width(const struct vmop_chart *chart);

/* Draw the marks of a category in the column that begins at x, in the line at y. */
void vmop_mode_marks_draw(const struct vmop_chart *chart, size_t category,
			  struct vmop_picture *picture, struct vmop_point at);

#endif
