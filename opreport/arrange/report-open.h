// SPDX-License-Identifier: GPL-2.0-or-later
/* The inside of a report, shared by the files that build it: report.c, columns.c, values.c,
 * lines.c and facts.c. */
#ifndef VMOP_OPREPORT_ARRANGE_REPORT_OPEN_H
#define VMOP_OPREPORT_ARRANGE_REPORT_OPEN_H

#include "opreport/arrange/report.h"
#include "opreport/query/arena.h"

/* Ids of columns: texts and numbers that name a row, then counts and ratios. */
enum vmop_column_id {
	COLUMN_ADDRESS,
	COLUMN_SESSION,
	COLUMN_DOMAIN,
	COLUMN_LIFE,
	COLUMN_MODE,
	COLUMN_CERTAINTY,
	COLUMN_CPU,
	COLUMN_VCPU,
	COLUMN_TASK,
	COLUMN_PID,
	COLUMN_TID,
	COLUMN_PROCESSES,
	COLUMN_CGROUP,
	COLUMN_IMAGE,
	COLUMN_SYMBOL,
	N_NAME_COLUMNS,
	COLUMN_SAMPLES = N_NAME_COLUMNS,
	COLUMN_WEIGHT,
	COLUMN_PERCENT,
	COLUMN_SUM_SAMPLES,
	COLUMN_SUM_PERCENT,
	COLUMN_TOTAL_SAMPLES, /* in or below the row */
	COLUMN_TOTAL_WEIGHT,
	COLUMN_TOTAL_PERCENT,
	COLUMN_RATIO,
	COLUMN_RATIO_LOW,
	COLUMN_RATIO_HIGH,
	COLUMN_PART_SAMPLES, /* + enum vmop_part; the weights and percents follow likewise */
	COLUMN_PART_WEIGHT = COLUMN_PART_SAMPLES + VMOP_N_PARTS,
	COLUMN_PART_PERCENT = COLUMN_PART_WEIGHT + VMOP_N_PARTS,
};

/* The counts of one row or detail, summed once for all columns that show them. */
struct vmop_row_counts {
	struct vmop_count *events;	 /* n_events: sums over the parts */
	struct vmop_count *bases;	 /* n_events: what percents are of */
	struct vmop_ratio_value *ratios; /* one for each of the report's ratios */
};

struct vmop_report {
	struct vmop_report_options options;
	struct vmop_result *result;
	const struct vmop_ratios *ratios;
	const struct vmop_hidden *hidden;
	const char **lines; /* on the heap; the texts are in the arena */
	size_t lines_capacity;
	struct vmop_arena arena; /* everything below */
	struct vmop_column *columns;
	size_t n_columns_max;		   /* room in columns */
	struct vmop_count *sums;	   /* running sums, row * n_events; NULL: not shown */
	struct vmop_row_counts row_counts; /* of the row whose values were read last */
	struct vmop_fact *facts;
	const char **footer;
	const char *losses;   /* NULL: none */
	const char *left_out; /* NULL: nothing */
	struct vmop_sheet sheet;
};

/* Fill columns and sheet.columns. */
struct vmop_error *vmop_report_add_columns(struct vmop_report *report);

/* Fill sheet.lines, losses and left_out. */
struct vmop_error *vmop_report_add_lines(struct vmop_report *report);

/* Fill sheet.footer: one line if rows are hidden. */
struct vmop_error *vmop_report_add_footer(struct vmop_report *report);

/* Fill sheet.facts. */
struct vmop_error *vmop_report_add_facts(struct vmop_report *report);

/* Allocate row_counts; then vmop_report_values can be called. */
struct vmop_error *vmop_report_prepare_values(struct vmop_report *report);

/* The sheet's operation `values`: see output/sheet.h. */
void vmop_report_values(const struct vmop_sheet *sheet, size_t row, size_t detail,
			struct vmop_value *ret);

#endif
