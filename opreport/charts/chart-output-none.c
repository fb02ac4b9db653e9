// SPDX-License-Identifier: GPL-2.0-or-later
/* The drawing of charts where vmop is built without cairo. */
#include "opreport/charts/chart-output.h"

struct vmop_error *vmop_chart_check_build(void)
{
	return vmop_error_new(VMOP_ERROR_CANT,
			      "charts need cairo and pango, and vmop is built without them");
}

struct vmop_error *vmop_chart_print(const struct vmop_chart *chart,
				    const struct vmop_chart_options *options, FILE *out)
{
	(void)chart;
	(void)options;
	(void)out;
	return vmop_chart_check_build();
}
