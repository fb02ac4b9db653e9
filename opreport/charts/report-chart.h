// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A chart of a report: the facts that every chart of a query's result has, and the memory of its
 * parts.  chart-rows.h and chart-times.h fill in the rest.
 *
 * A chart shows one event, the first selected one.
 */
#ifndef VMOP_OPREPORT_CHARTS_REPORT_CHART_H
#define VMOP_OPREPORT_CHARTS_REPORT_CHART_H

#include <stdio.h>

#include "opreport/arrange/report.h"
#include "opreport/charts/chart.h"
#include "opreport/query/arena.h"

#define VMOP_REPORT_CHART_NOTES_MAX 8

struct vmop_report_chart {
	struct vmop_chart chart;
	struct vmop_result *result;
	unsigned dimensions; /* of the rows */
	bool with_pids;	     /* rows by task are processes, not commands */
	size_t top;	     /* categories or series beside the rest; 0: as many as please */
	const char *notes[VMOP_REPORT_CHART_NOTES_MAX];
	struct vmop_arena arena; /* owns the arrays and most texts */
};

/*
 * Set the facts of *ret: event, samples, losses, notes.  The report's texts must outlive *ret.  The
 * caller deinitialises ret also after an error.
 */
struct vmop_error *vmop_report_chart_init(struct vmop_report_chart *ret, enum vmop_chart_kind kind,
					  struct vmop_result *result,
					  const struct vmop_report *report);
void vmop_report_chart_deinit(struct vmop_report_chart *chart);

/* Format a text that the chart owns and set *ret to it. */
struct vmop_error *vmop_report_chart_text(struct vmop_report_chart *chart, const char **ret,
					  const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* Add a formatted note; beyond VMOP_REPORT_CHART_NOTES_MAX it is left out. */
struct vmop_error *vmop_report_chart_note(struct vmop_report_chart *chart, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* Return the sum of a row's parts, of the chart's event. */
struct vmop_count vmop_report_chart_count(const struct vmop_report_chart *chart,
					  const struct vmop_row *row);

#endif
