// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/charts/report-chart.h"

#include <stdarg.h>

/* How many sessions have their lines in the notes. */
#define SESSIONS_NOTED_MAX 2

struct vmop_error *vmop_report_chart_text(struct vmop_report_chart *chart, const char **ret,
					  const char *format, ...)
{
	va_list args;
	va_start(args, format);
	*ret = vmop_arena_vformat(&chart->arena, format, args);
	va_end(args);
	return *ret ? NULL : &vmop_error_no_memory;
}

struct vmop_error *vmop_report_chart_note(struct vmop_report_chart *chart, const char *format, ...)
{
	if (chart->chart.n_notes == VMOP_REPORT_CHART_NOTES_MAX)
		return NULL;
	va_list args;
	va_start(args, format);
	const char *note = vmop_arena_vformat(&chart->arena, format, args);
	va_end(args);
	if (!note)
		return &vmop_error_no_memory;
	chart->notes[chart->chart.n_notes++] = note;
	return NULL;
}

/* The first lines of a report are two for each session: its name, and its time. */
static struct vmop_error *note_sessions(struct vmop_report_chart *chart,
					const struct vmop_report *report)
{
	const struct vmop_sheet *sheet = vmop_report_sheet(report);
	size_t n = chart->result->catalog.n_sessions;
	struct vmop_error *err = NULL;
	for (size_t i = 0; i < 2 * n && i < 2 * SESSIONS_NOTED_MAX && i < sheet->n_lines && !err;
	     i++)
		err = vmop_report_chart_note(chart, "%s", sheet->lines[i]);
	if (!err && n > SESSIONS_NOTED_MAX)
		err = vmop_report_chart_note(chart, "and %zu more sessions",
					     n - SESSIONS_NOTED_MAX);
	return err;
}

struct vmop_error *vmop_report_chart_init(struct vmop_report_chart *ret, enum vmop_chart_kind kind,
					  struct vmop_result *result,
					  const struct vmop_report *report)
{
	*ret = (struct vmop_report_chart){.result = result,
					  .dimensions = result->dimensions,
					  .chart = {.kind = kind,
						    .event = vmop_result_event(result, 0)->label,
						    .samples = result->selected[0].samples,
						    .losses = vmop_report_losses(report),
						    .time.start_ns = result->catalog.start_ns}};
	ret->chart.notes = ret->notes;
	struct vmop_error *err = note_sessions(ret, report);
	if (!err && result->n_events > 1)
		err = vmop_report_chart_note(ret,
					     "the first of %zu events; event:NAME selects another",
					     result->n_events);
	if (!err && vmop_report_left_out(report))
		err = vmop_report_chart_note(ret, "too much for one chart, left out: %s",
					     vmop_report_left_out(report));
	return err;
}

void vmop_report_chart_deinit(struct vmop_report_chart *chart)
{
	vmop_arena_deinit(&chart->arena);
}

struct vmop_count vmop_report_chart_count(const struct vmop_report_chart *chart,
					  const struct vmop_row *row)
{
	return vmop_result_sum(chart->result, row->counts, 0);
}
