// SPDX-License-Identifier: GPL-2.0-or-later
/* A series: vmopreport's options, as opreport/series understands them. */
#ifndef VMOP_OPREPORT_SERIES_REPORT_H
#define VMOP_OPREPORT_SERIES_REPORT_H

#include "libutil/error.h"
#include "opreport/settings.h"

/*
 * Set the query's dimensions and merging for --over, if it is there.  VMOP_ERROR_USAGE names the
 * first option that does not go with it.
 */
struct vmop_error *vmop_series_report_prepare(struct vmop_settings *settings);

/* Print the series of a query's result with `print`; above is the sheet of its report. */
struct vmop_error *
vmop_series_report(const struct vmop_settings *settings, struct vmop_result *result,
		   const struct vmop_sheet *above,
		   struct vmop_error *(*print)(const struct vmop_settings *settings,
					       const struct vmop_sheet *sheet));

#endif
