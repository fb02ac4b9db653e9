// SPDX-License-Identifier: GPL-2.0-or-later
/* Paint a picture as SVG, PNG, PDF or EPS, by cairo. */
#ifndef VMOP_OPREPORT_CHARTS_PAINTER_H
#define VMOP_OPREPORT_CHARTS_PAINTER_H

#include <stdint.h>
#include <stdio.h>

#include "libutil/error.h"
#include "opreport/charts/chart-format.h"
#include "opreport/charts/picture.h"

/*
 * Write the picture to out.  The same picture gives the same bytes: time_ns, CLOCK_REALTIME, stands
 * in a PDF as its time.  title is the document's in a PDF, raw bytes.
 */
struct vmop_error *vmop_painter_print(const struct vmop_picture *picture,
				      enum vmop_chart_format format, const char *title,
				      uint64_t time_ns, FILE *out);

#endif
