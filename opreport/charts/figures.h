// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The figures: one function a kind of chart.  Each draws its legend and itself into the page, whose
 * body it takes (chart-page.h).  VMOP_ERROR_LIMIT: the user's page has no room.
 */
#ifndef VMOP_OPREPORT_CHARTS_FIGURES_H
#define VMOP_OPREPORT_CHARTS_FIGURES_H

#include "opreport/charts/chart-page.h"

struct vmop_error *vmop_figure_bars(struct vmop_chart_page *page);
struct vmop_error *vmop_figure_bubbles(struct vmop_chart_page *page);
struct vmop_error *vmop_figure_timeline(struct vmop_chart_page *page);
struct vmop_error *vmop_figure_heat(struct vmop_chart_page *page);

#endif
