// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * From a result to a sheet: which columns, what stands above and below.
 */
#ifndef VMOP_OPREPORT_ARRANGE_REPORT_H
#define VMOP_OPREPORT_ARRANGE_REPORT_H

#include "opreport/arrange/rows.h"
#include "opreport/output/sheet.h"
#include "opreport/query/query.h"
#include "opreport/query/ratio.h"

struct vmop_report_options {
	unsigned by;	      /* enum vmop_dimension that the user named: shown in any case */
	bool accumulated;     /* running sums beside the counts */
	bool long_filenames;  /* whole paths of images */
	bool show_address;    /* of symbols */
	bool global_percent;  /* details' shares: of the base, not of their symbol */
	bool merged_commands; /* rows of tasks are commands: no pids */
};

struct vmop_report;

/* result, ratios and hidden must outlive *ret. */
struct vmop_error *vmop_report_create(const struct vmop_report_options *options,
				      struct vmop_result *result, const struct vmop_ratios *ratios,
				      const struct vmop_hidden *hidden, struct vmop_report **ret);
void vmop_report_destroy(struct vmop_report *report);

const struct vmop_sheet *vmop_report_sheet(const struct vmop_report *report);

/* "lost 12, throttled 3"; NULL when nothing was lost. Owned by the report. */
const char *vmop_report_losses(const struct vmop_report *report);

/* A description of the parts that the report's bounds left out; NULL: none. Likewise owned. */
const char *vmop_report_left_out(const struct vmop_report *report);

#endif
