// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/compare-report.h"

#include <string.h>

#include "opreport/compare/comparison.h"
#include "opreport/compare/request.h"

/* The default of --top in tables: programs get all rows. */
#define DEFAULT_TOP 10

static struct vmop_error *find_sort(const struct vmop_settings *settings,
				    enum vmop_compare_sort *ret)
{
	*ret = VMOP_COMPARE_BY_DIFFERENCE;
	if (!settings->sort.n)
		return NULL;
	if (settings->sort.n > 1)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "--sort takes one word with specs in braces");
	if (!strcmp(settings->sort.items[0], "sample")) {
		*ret = VMOP_COMPARE_BY_COUNT;
		return NULL;
	}
	return vmop_compare_sort_parse(settings->sort.items[0], ret);
}

struct vmop_error *vmop_compare_report_check(const struct vmop_settings *settings)
{
	const struct {
		bool is_wrong;
		const char *option;
	} wrong[] = {
		{settings->by & ~(unsigned)VMOP_COMPARED_DIMENSIONS,
		 "--by=cpu, vcpu, mode, certainty, session or life"},
		{settings->callgraph, "--callgraph"},
		{settings->tree_output && settings->tree_output != &vmop_tree_output_flamegraph,
		 "this format"},
		{settings->kind != VMOP_REPORT_ROWS && !settings->tree_output, "--tree"},
		{settings->children, "--children"},
		{settings->callers.n || settings->callees.n, "--caller or --callee"},
		{settings->inlines, "--inlines"},
		{settings->query.details, "--details"},
		{settings->has_threshold, "--threshold"},
		{settings->include.n || settings->exclude.n,
		 "--include-symbols or --exclude-symbols"},
		{settings->ratios.n, "--ratio"},
		{settings->report.accumulated, "--accumulated"},
		{settings->report.global_percent, "--global-percent"},
		{settings->report.show_address, "--show-address"},
		{settings->list_sessions, "--list-sessions"},
		{settings->chart.is_wanted, "--chart (vmopcompare has it)"},
	};
	enum vmop_compare_sort sort;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		if (wrong[i].is_wrong)
			return vmop_error_new(VMOP_ERROR_USAGE, "specs in braces do not go with %s",
					      wrong[i].option);
	return find_sort(settings, &sort);
}

struct vmop_error *vmop_compare_report(const struct vmop_settings *settings)
{
	struct vmop_compare_request request = {
		.session_dir = settings->spec.session_dir,
		.archive = settings->spec.archive,
		.common = {(const char *const *)settings->spec_words.items, settings->spec_words.n},
		.n_sides = settings->braces.n,
		.query = settings->query,
		.by = settings->by,
		.per = settings->per,
		.flamegraph = settings->tree_output,
		.output = {.format = settings->output,
			   .options = settings->output_options,
			   .file = settings->output_file},
	};
	for (size_t i = 0; i < settings->braces.n; i++) {
		const struct vmop_words *words = &settings->braces.sides[i];
		request.sides[i] =
			(struct vmop_side_words){(const char *const *)words->items, words->n};
	}
	request.query.dimensions &= VMOP_COMPARED_DIMENSIONS;
	request.query.dimensions |= VMOP_BY_DOMAIN;
	if (request.flamegraph)
		request.query.dimensions |= VMOP_BY_IMAGE | VMOP_BY_SYMBOL;
	request.query.by_part = request.query.of_whole_session = false;
	if (request.query.dimensions & VMOP_BY_TASK)
		request.query.merge |= VMOP_MERGE_TID | VMOP_MERGE_TGID;
	request.output.ordering.top = settings->arrangement.top;
	if (!settings->has_top && settings->output == &vmop_output_table)
		request.output.ordering.top = DEFAULT_TOP;
	request.output.ordering.reverse = settings->arrangement.reverse;
	struct vmop_error *err = find_sort(settings, &request.output.ordering.sort);
	return err ? err : vmop_compare(&request);
}
