// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/arrange/report.h"

#include <stdlib.h>

#include "opreport/arrange/report-open.h"

static struct vmop_error *accumulate(struct vmop_report *report)
{
	const struct vmop_result *result = report->result;
	size_t n_events = result->n_events;
	report->sums = vmop_arena_alloc(&report->arena,
					(result->n_rows + 1) * n_events * sizeof(*report->sums));
	if (!report->sums)
		return &vmop_error_no_memory;
	for (size_t row = 0; row < result->n_rows; row++) {
		for (size_t e = 0; e < n_events; e++) {
			struct vmop_count sum =
				vmop_result_sum(result, result->rows[row].counts, e);
			if (row) {
				struct vmop_count before = report->sums[(row - 1) * n_events + e];
				vmop_count_add(&sum, before.samples, before.weight_events);
			}
			report->sums[row * n_events + e] = sum;
		}
	}
	return NULL;
}

static size_t n_details(const struct vmop_sheet *sheet, size_t row)
{
	const struct vmop_report *report = sheet->data;
	return report->result->rows[row].n_details;
}

struct vmop_error *vmop_report_create(const struct vmop_report_options *options,
				      struct vmop_result *result, const struct vmop_ratios *ratios,
				      const struct vmop_hidden *hidden, struct vmop_report **ret)
{
	struct vmop_report *report = calloc(1, sizeof(*report));
	if (!report)
		return &vmop_error_no_memory;
	report->options = *options;
	report->result = result;
	report->ratios = ratios;
	report->hidden = hidden;
	report->sheet = (struct vmop_sheet){.n_rows = result->n_rows,
					    .n_details = n_details,
					    .values = vmop_report_values,
					    .data = report};
	struct vmop_error *err = vmop_report_add_columns(report);
	if (!err)
		err = vmop_report_prepare_values(report);
	if (!err && options->accumulated)
		err = accumulate(report);
	if (!err)
		err = vmop_report_add_lines(report);
	if (!err)
		err = vmop_report_add_footer(report);
	if (!err)
		err = vmop_report_add_facts(report);
	if (err) {
		vmop_report_destroy(report);
		return err;
	}
	*ret = report;
	return NULL;
}

void vmop_report_destroy(struct vmop_report *report)
{
	if (!report)
		return;
	vmop_arena_deinit(&report->arena);
	free(report->lines);
	free(report);
}

const struct vmop_sheet *vmop_report_sheet(const struct vmop_report *report)
{
	return &report->sheet;
}

const char *vmop_report_losses(const struct vmop_report *report)
{
	return report->losses;
}

const char *vmop_report_left_out(const struct vmop_report *report)
{
	return report->left_out;
}
