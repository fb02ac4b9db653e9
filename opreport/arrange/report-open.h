// SPDX-License-Identifier: GPL-2.0-or-later
/* A report from within: shared by report.c and arrange/columns.c. */
#ifndef VMOP_OPREPORT_ARRANGE_REPORT_OPEN_H
#define VMOP_OPREPORT_ARRANGE_REPORT_OPEN_H

#include "opreport/arrange/report.h"
#include "opreport/query/arena.h"

struct vmop_report {
	struct vmop_report_options options;
	struct vmop_result *result;
	const struct vmop_ratios *ratios;
	const struct vmop_hidden *hidden;
	const char **lines;	 /* the list itself is not in the arena */
	struct vmop_arena arena; /* everything below */
	struct vmop_column *columns;
	size_t n_columns_max;	 /* that columns has room for */
	struct vmop_count *sums; /* by row * n_events: running sums */
	struct vmop_fact *facts;
	const char **footer;
	const char *losses;   /* NULL: none */
	const char *left_out; /* likewise */
	struct vmop_sheet sheet;
};

struct vmop_error *vmop_report_add_columns(struct vmop_report *report);

void vmop_report_cell(const struct vmop_sheet *sheet, size_t row, size_t detail,
		      const struct vmop_column *column, struct vmop_cell *ret);

#endif
