// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Series: the rows of a query by steps of time as a sheet, for --over=time.
 *
 * Caller: vmopreport.c.  series-options takes the option, query/time-steps.h makes the steps, and
 * series arranges the rows: a step after the other, and within a step the largest first.  A step
 * that was recorded and has no selected samples has a row of zeros.
 */
#ifndef VMOP_OPREPORT_SERIES_SERIES_H
#define VMOP_OPREPORT_SERIES_SERIES_H

#include "opreport/output/sheet.h"
#include "opreport/query/query.h"

struct vmop_series_settings {
	unsigned by;	    /* dimensions that name a row, without VMOP_BY_TIME */
	bool for_people;    /* image names without folders */
	uint64_t top;	    /* rows of a step at most; 0: all */
	uint64_t max_lines; /* rows at most */
};

struct vmop_series;

/*
 * Make a series of the result of a query with by_step.  above has the lines and facts of its
 * report.  result and above must outlive *ret.  VMOP_ERROR_USAGE: more than max_lines.
 */
struct vmop_error *vmop_series_create(const struct vmop_series_settings *settings,
				      struct vmop_result *result, const struct vmop_sheet *above,
				      struct vmop_series **ret);
void vmop_series_destroy(struct vmop_series *series);

const struct vmop_sheet *vmop_series_sheet(const struct vmop_series *series);

#endif
