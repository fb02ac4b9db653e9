// SPDX-License-Identifier: GPL-2.0-or-later
/* The formats of charts' files, and the sizes of their pages. */
#ifndef VMOP_OPREPORT_CHARTS_CHART_FORMAT_H
#define VMOP_OPREPORT_CHARTS_CHART_FORMAT_H

enum vmop_chart_format {
	VMOP_CHART_SVG,
	VMOP_CHART_PNG,
	VMOP_CHART_PDF,
	VMOP_CHART_EPS,
};

/* Sizes in pixels of a PNG, and in points (1/72 inch) of the others. */
#define VMOP_CHART_SIZE_MIN 200
#define VMOP_CHART_SIZE_MAX 10000

#endif
