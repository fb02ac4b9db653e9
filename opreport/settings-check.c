// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/settings-check.h"

#include "opreport/charts/chart-output.h"
#include "opreport/compare-report.h"
#include "opreport/stacks/inclusive.h"

/* Refuse options that a report of stacks cannot honour. */
static struct vmop_error *check_stacks(const struct vmop_settings *settings)
{
	const struct vmop_arrangement *arrangement = &settings->arrangement;
	enum vmop_report_kind kind = settings->kind;
	bool is_graph = kind == VMOP_REPORT_CALLGRAPH, is_tree = kind > VMOP_REPORT_CALLGRAPH;
	const unsigned groups = vmop_inclusive_tree(~0u).groups;
	bool sorts_by_other = false;
	for (size_t i = 0; i < arrangement->n_sort; i++)
		sorts_by_other |= arrangement->sort[i] != VMOP_SORT_SAMPLE &&
				  arrangement->sort[i] != VMOP_SORT_SYMBOL &&
				  arrangement->sort[i] != VMOP_SORT_IMAGE;
	const struct {
		bool is_wrong;
		const char *option;
	} wrong[] = {
		{settings->callgraph && is_tree, "--callgraph"},
		{settings->children, "--children"},
		{settings->query.details, "--details"},
		{settings->report.accumulated, "--accumulated"},
		{settings->report.show_address, "--show-address"},
		{settings->ratios.n > 0, "--ratio"},
		{is_graph && settings->by & ~(unsigned)VMOP_BY_SYMBOL, "--by"},
		{is_tree && settings->by & ~(groups | VMOP_BY_SYMBOL), "--by=image, life or mode"},
		{is_graph && sorts_by_other, "--sort by others than sample, symbol and image"},
		{is_tree && arrangement->n_sort, "--sort"},
		{is_tree && arrangement->reverse, "--reverse-sort"},
		{is_tree && arrangement->top, "--top"},
		{is_tree && (settings->include.n || settings->exclude.n),
		 "--include-symbols or --exclude-symbols (--callee selects)"},
	};
	const char *report = is_graph		     ? "--callgraph"
			     : settings->tree_output ? "this format"
						     : "--tree";
	for (size_t i = 0; kind != VMOP_REPORT_ROWS && i < sizeof(wrong) / sizeof(*wrong); i++)
		if (wrong[i].is_wrong)
			return vmop_error_new(VMOP_ERROR_USAGE, "%s does not go with %s", report,
					      wrong[i].option);
	return NULL;
}

/* Refuse options that a chart cannot honour. */
static struct vmop_error *check_chart(const struct vmop_settings *settings)
{
	const struct vmop_arrangement *arrangement = &settings->arrangement;
	const struct {
		bool is_wrong;
		const char *option;
	} wrong[] = {
		{settings->kind != VMOP_REPORT_CHART, "a report of call stacks"},
		{settings->output != &vmop_output_table, "--format"},
		{settings->children, "--children"},
		{settings->query.details, "--details"},
		{settings->report.accumulated, "--accumulated"},
		{settings->report.show_address, "--show-address"},
		{settings->ratios.n > 0, "--ratio"},
		{arrangement->n_sort > 0, "--sort"},
		{arrangement->reverse, "--reverse-sort"},
		{settings->has_threshold, "--threshold"},
		{settings->chart.kind == VMOP_CHART_HEAT &&
			 (settings->by || settings->wants_symbols),
		 "--by or --symbols when it is a heat map"},
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		if (wrong[i].is_wrong)
			return vmop_error_new(VMOP_ERROR_USAGE, "--chart does not go with %s",
					      wrong[i].option);
	return NULL;
}

struct vmop_error *vmop_settings_check_format(const struct vmop_settings *settings)
{
	bool is_rows = settings->kind == VMOP_REPORT_ROWS && !settings->list_sessions &&
		       !settings->braces.n;
	if (settings->tree_output || !settings->output->by_symbol || is_rows)
		return NULL;
	return vmop_error_new(VMOP_ERROR_USAGE, "--format=%s does not go with %s",
			      settings->output->name,
			      settings->list_sessions			? "--list-sessions"
			      : settings->braces.n			? "{ SPEC... } { SPEC... }"
			      : settings->kind == VMOP_REPORT_CALLGRAPH ? "--callgraph"
			      : settings->kind == VMOP_REPORT_CHART	? "--chart"
									: "--tree");
}

/* Refuse options of a report of samples that do not fit together. */
static struct vmop_error *check_report(const struct vmop_settings *settings)
{
	static const struct {
		enum vmop_sort sort;
		unsigned dimension;
		const char *name, *needs;
	} needed[] = {
		{VMOP_SORT_SESSION, VMOP_BY_SESSION, "session", "--by=session"},
		{VMOP_SORT_DOMAIN, VMOP_BY_DOMAIN, "domain", "--by=domain"},
		{VMOP_SORT_IMAGE, VMOP_BY_IMAGE, "image", "--by=image"},
		{VMOP_SORT_SYMBOL, VMOP_BY_SYMBOL, "symbol", "--symbols"},
		{VMOP_SORT_VMA, VMOP_BY_SYMBOL, "vma", "--symbols"},
		{VMOP_SORT_TASK, VMOP_BY_TASK, "task", "--by=task"},
		{VMOP_SORT_PID, VMOP_BY_TASK, "pid", "--by=task"},
		{VMOP_SORT_CGROUP, VMOP_BY_CGROUP, "cgroup", "--by=cgroup"},
		{VMOP_SORT_CPU, VMOP_BY_CPU, "cpu", "--by=cpu"},
		{VMOP_SORT_VCPU, VMOP_BY_VCPU, "vcpu", "--by=vcpu"},
		{VMOP_SORT_MODE, VMOP_BY_MODE, "mode", "--by=mode"},
	};
	unsigned dimensions = settings->query.dimensions;
	for (size_t i = 0; i < settings->arrangement.n_sort; i++) {
		for (size_t n = 0; n < sizeof(needed) / sizeof(*needed); n++) {
			if (needed[n].sort == settings->arrangement.sort[i] &&
			    !(dimensions & needed[n].dimension))
				return vmop_error_new(VMOP_ERROR_USAGE, "--sort=%s needs %s",
						      needed[n].name, needed[n].needs);
		}
	}
	if ((settings->include.n || settings->exclude.n) && !(dimensions & VMOP_BY_SYMBOL))
		return vmop_error_new(VMOP_ERROR_USAGE, "--%s-symbols needs --symbols",
				      settings->include.n ? "include" : "exclude");
	if (settings->inlines && settings->kind == VMOP_REPORT_ROWS &&
	    !(settings->children && dimensions & VMOP_BY_SYMBOL))
		return vmop_error_new(
			VMOP_ERROR_USAGE,
			"--inlines needs --callgraph, --tree, a format of call stacks, "
			"or --children with --symbols");
	struct vmop_error *err = settings->chart.is_wanted ? check_chart(settings) : NULL;
	return err || settings->kind == VMOP_REPORT_CHART ? err : check_stacks(settings);
}

/* Refuse options that the time of vCPUs cannot honour: it is not made of samples. */
static struct vmop_error *check_waits(const struct vmop_settings *settings)
{
	const struct vmop_arrangement *arrangement = &settings->arrangement;
	const struct {
		bool is_wrong;
		const char *option;
	} wrong[] = {
		{settings->kind != VMOP_REPORT_ROWS, "a report of call stacks or a chart"},
		{settings->children, "--children"},
		{settings->series.is_wanted, "--over"},
		{settings->braces.n, "{ SPEC... } { SPEC... }"},
		{settings->list_sessions, "--list-sessions"},
		{settings->by || settings->wants_symbols || settings->query.details,
		 "--by, --symbols or --details"},
		{settings->has_threshold || settings->has_top, "--threshold or --top"},
		{arrangement->n_sort || arrangement->reverse, "--sort or --reverse-sort"},
		{settings->ratios.n > 0, "--ratio"},
		{settings->include.n || settings->exclude.n,
		 "--include-symbols or --exclude-symbols"},
		{settings->report.accumulated || settings->report.show_address,
		 "--accumulated or --show-address"},
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++)
		if (wrong[i].is_wrong)
			return vmop_error_new(VMOP_ERROR_USAGE, "--waits does not go with %s",
					      wrong[i].option);
	return NULL;
}

struct vmop_error *vmop_settings_check(const struct vmop_settings *settings)
{
	if (settings->waits)
		return check_waits(settings);
	struct vmop_error *err = settings->chart.is_wanted ? vmop_chart_check_build() : NULL;
	if (err)
		return err;
	if (settings->braces.n)
		return vmop_compare_report_check(settings);
	if (settings->has_per)
		return vmop_error_new(VMOP_ERROR_USAGE, "--per needs { SPEC... } { SPEC... }");
	return settings->list_sessions ? NULL : check_report(settings);
}
