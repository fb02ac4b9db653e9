// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Report: turn the result of a query into a sheet (output/sheet.h) that an output format prints.
 *
 * Caller: vmopreport.c.  Data meets the files of this folder in this order:
 *   session    opens the sessions that a spec names, before the query; also lists all sessions
 *   rows       drops and sorts the rows of the query's result
 *   columns    chooses the columns
 *   values     reads a row's values, for all columns at once
 *   lines      writes the lines above and below the table
 *   facts      lists for programs what the lines state
 *   report     puts them together; report-open.h is the struct that these files share
 */
#ifndef VMOP_OPREPORT_ARRANGE_REPORT_H
#define VMOP_OPREPORT_ARRANGE_REPORT_H

#include "opreport/arrange/rows.h"
#include "opreport/output/sheet.h"
#include "opreport/query/query.h"
#include "opreport/query/ratio.h"

struct vmop_report_options {
	unsigned by;	      /* bits of enum vmop_dimension that the user named: always shown */
	bool accumulated;     /* running sums beside the counts */
	bool long_filenames;  /* whole paths of images */
	bool show_address;    /* of symbols */
	bool global_percent;  /* percents of details are of the base, not of their symbol */
	bool merged_commands; /* rows by task are commands, without pids */
};

struct vmop_report;

/*
 * Make a report of result->rows in their order.  result, ratios and hidden must outlive *ret;
 * values are read while the sheet is printed.  Fails without memory, or without room for the
 * columns (VMOP_ERROR_LIMIT).
 */
struct vmop_error *vmop_report_create(const struct vmop_report_options *options,
				      struct vmop_result *result, const struct vmop_ratios *ratios,
				      const struct vmop_hidden *hidden, struct vmop_report **ret);
void vmop_report_destroy(struct vmop_report *report);

const struct vmop_sheet *vmop_report_sheet(const struct vmop_report *report);

/* Return "lost 12, throttled 3", or NULL if nothing was lost.  The report owns it. */
const char *vmop_report_losses(const struct vmop_report *report);

/* Return a description of what the report's bounds left out, or NULL.  The report owns it. */
const char *vmop_report_left_out(const struct vmop_report *report);

#endif
