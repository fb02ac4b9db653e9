// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/series-report.h"

#include "opreport/series/series.h"

/* Dimensions that rows of a series can have. */
#define DIMENSIONS                                                                                 \
	(VMOP_BY_SESSION | VMOP_BY_DOMAIN | VMOP_BY_CGROUP | VMOP_BY_TASK | VMOP_BY_IMAGE |        \
	 VMOP_BY_SYMBOL)

static struct vmop_error *check(const struct vmop_settings *settings)
{
	const struct {
		bool is_wrong;
		const char *option;
	} wrong[] = {
		{settings->kind != VMOP_REPORT_ROWS, "--callgraph, --tree, --chart or this format"},
		{settings->output->by_symbol, "this format"},
		{settings->braces.n, "{ SPEC... } { SPEC... }"},
		{settings->list_sessions, "--list-sessions"},
		{settings->children, "--children"},
		{settings->query.details, "--details"},
		{settings->has_threshold, "--threshold"},
		{settings->report.accumulated, "--accumulated"},
		{settings->report.global_percent,
		 "--global-percent (shares are of the whole step)"},
		{settings->report.show_address, "--show-address"},
		{settings->ratios.n, "--ratio"},
		{settings->sort.n || settings->arrangement.reverse, "--sort or --reverse-sort"},
		{settings->by & ~(unsigned)DIMENSIONS, "--by=cpu, vcpu, mode, certainty or life"},
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		if (wrong[i].is_wrong)
			return vmop_error_new(VMOP_ERROR_USAGE, "--over does not go with %s",
					      wrong[i].option);
	return NULL;
}

struct vmop_error *vmop_series_report_prepare(struct vmop_settings *settings)
{
	struct vmop_query *query = &settings->query;
	if (!settings->series.is_wanted)
		return NULL;
	struct vmop_error *err = check(settings);
	if (err)
		return err;
	query->dimensions &= DIMENSIONS;
	if (!settings->by && !settings->wants_symbols)
		query->dimensions = 0;
	query->dimensions |= VMOP_BY_TIME;
	query->by_step = true;
	query->time_step_s = settings->series.step_s;
	query->by_part = query->of_whole_session = false;
	query->threshold_percent = 0;
	if (query->dimensions & VMOP_BY_TASK) /* a command's processes are one series */
		query->merge |= VMOP_MERGE_TID | VMOP_MERGE_TGID;
	return NULL;
}

struct vmop_error *
vmop_series_report(const struct vmop_settings *settings, struct vmop_result *result,
		   const struct vmop_sheet *above,
		   struct vmop_error *(*print)(const struct vmop_settings *settings,
					       const struct vmop_sheet *sheet))
{
	const struct vmop_series_settings series_settings = {
		.by = settings->query.dimensions & ~(unsigned)VMOP_BY_TIME,
		.for_people =
			settings->output == &vmop_output_table && !settings->report.long_filenames,
		.top = settings->arrangement.top,
		.max_lines = settings->arrangement.max_lines,
	};
	struct vmop_series *series = NULL;
	struct vmop_error *err = vmop_series_create(&series_settings, result, above, &series);
	if (!err)
		err = print(settings, vmop_series_sheet(series));
	vmop_series_destroy(series);
	return err;
}
