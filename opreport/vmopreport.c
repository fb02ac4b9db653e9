// SPDX-License-Identifier: GPL-2.0-or-later
/* vmopreport: report the samples of sessions.  See vmopreport(1). */
#include "config.h"

#include <argp.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/heap.h"
#include "libutil/log.h"
#include "libutil/plural.h"
#include "opreport/arrange/call-report.h"
#include "opreport/arrange/session.h"
#include "opreport/charts/chart-rows.h"
#include "opreport/charts/chart-times.h"
#include "opreport/compare-report.h"
#include "opreport/gate-report.h"
#include "opreport/output/printing.h"
#include "opreport/series-report.h"
#include "opreport/settings.h"
#include "opreport/stacks/inclusive.h"
#include "opreport/stacks/inline-map.h"
#include "opreport/stacks/inverse-tree.h"
#include "opreport/stacks/stack-reader.h"
#include "opreport/waits/task-times-sheet.h"

/* ---- output ----------------------------------------------------------------- */

/* The printed object: a sheet, a call tree with its own format, or a chart. */
struct printed {
	const struct vmop_settings *settings;
	const struct vmop_sheet *sheet;
	struct vmop_call_tree *tree; /* NULL: only the sheet; else only the sheet's lines */
	const struct vmop_inline_map *inlines; /* for tree formats with has_inlines */
	const struct vmop_chart *chart;	       /* NULL: none; else only the chart */
};

static struct vmop_error *print_printed(const void *arg, FILE *out)
{
	const struct printed *printed = arg;
	const struct vmop_settings *settings = printed->settings;
	if (printed->chart)
		return vmop_chart_print(printed->chart, &settings->chart.options, out);
	const struct vmop_tree_output_options options = {
		.lines = printed->sheet->lines,
		.n_lines = printed->sheet->n_lines,
		.threshold_percent = settings->arrangement.threshold_percent,
		.inlines = printed->inlines,
	};
	return printed->tree
		       ? settings->tree_output->print(printed->tree, &options, out)
		       : settings->output->print(printed->sheet, &settings->output_options, out);
}

static struct vmop_error *print(const struct printed *printed)
{
	return vmop_print_to(printed->settings->output_file, print_printed, printed);
}

static struct vmop_error *print_sheet(const struct vmop_settings *settings,
				      const struct vmop_sheet *sheet)
{
	return print(&(const struct printed){.settings = settings, .sheet = sheet});
}

static void log_missing_symbols(const struct vmop_result *result)
{
	const struct vmop_missing *missing = &result->missing;
	if (!missing->samples)
		return;
	vmop_log_notice("no symbols for %llu sample%s; most (%llu) in %s: %s",
			(unsigned long long)missing->samples, vmop_plural(missing->samples),
			(unsigned long long)missing->top_samples,
			vmop_catalog_image(&result->catalog, missing->top_image)->name,
			missing->top_why);
}

/* Log a notice if the user asked for a column that is empty in all rows. */
static void log_empty_columns(const struct vmop_settings *settings,
			      const struct vmop_result *result)
{
	bool has_cpu = false, has_vcpu = false;
	for (size_t i = 0; i < result->n_rows; i++) {
		has_cpu = has_cpu || vmop_group_has_cpu(result->rows[i].group);
		has_vcpu = has_vcpu || vmop_group_has_vcpu(result->rows[i].group);
	}
	bool lacks_cpu = settings->by & result->dimensions & VMOP_BY_CPU && !has_cpu;
	bool lacks_vcpu = settings->by & result->dimensions & VMOP_BY_VCPU && !has_vcpu;
	if (lacks_cpu || lacks_vcpu)
		vmop_log_notice(
			"--by=%s: the recording does not separate samples by it; 'vmopcontrol "
			"--separate=cpu' does so from the next start on",
			lacks_cpu ? "cpu" : "vcpu");
}

/* A report while it is made. */
struct job {
	struct vmop_settings *settings;
	struct vmop_sessions sessions;
	struct vmop_result result;
	struct vmop_ratios ratios;
	struct vmop_hidden hidden;
	struct vmop_stack_reader *reader; /* NULL: no stacks are needed */
	struct vmop_call_tree *tree;	  /* the reader's, or with_inlines */
	struct vmop_inline_map inlines;	  /* of the reader's tree, with --inlines */
	struct vmop_call_tree with_inlines;
};

static void job_deinit(struct job *job)
{
	vmop_call_tree_deinit(&job->with_inlines);
	vmop_inline_map_deinit(&job->inlines);
	vmop_stack_reader_destroy(job->reader);
	free(job->hidden.counts);
	vmop_ratios_deinit(&job->ratios);
	vmop_result_deinit(&job->result);
	vmop_sessions_deinit(&job->sessions);
}

/* Return whether the lines above the table are printed. */
static bool shows_lines(const struct vmop_settings *settings)
{
	return settings->output == &vmop_output_table && !settings->output_options.no_header;
}

/* Log what a format without facts, or without the lines above its table, cannot show. */
static void log_incomplete(const struct vmop_settings *settings, const struct vmop_report *report)
{
	if (!settings->tree_output && (settings->output->has_facts || shows_lines(settings)))
		return;
	if (vmop_report_losses(report))
		vmop_log_warning("losses: %s", vmop_report_losses(report));
	if (vmop_report_left_out(report))
		vmop_log_warning("too much for one report, left out: %s",
				 vmop_report_left_out(report));
}

static struct vmop_error *report_rows(struct job *job)
{
	struct vmop_settings *settings = job->settings;
	struct vmop_report *report = NULL;
	struct vmop_arrangement arrangement = settings->arrangement;
	if (settings->series.is_wanted) /* which sorts its rows itself */
		arrangement = (struct vmop_arrangement){.unsorted = true,
							.include_symbols = &settings->include,
							.exclude_symbols = &settings->exclude};
	struct vmop_error *err =
		vmop_rows_arrange(&job->result, &job->ratios, &arrangement, &job->hidden);
	if (!err)
		err = vmop_report_create(&settings->report, &job->result, &job->ratios,
					 &job->hidden, &report);
	if (!err && settings->series.is_wanted)
		err = vmop_series_report(settings, &job->result, vmop_report_sheet(report),
					 print_sheet);
	else if (!err)
		err = print_sheet(settings, vmop_report_sheet(report));
	if (!err) {
		log_incomplete(settings, report);
		log_empty_columns(settings, &job->result);
	}
	vmop_report_destroy(report);
	return err;
}

/* Fill in what the kind of chart shows. */
static struct vmop_error *fill_chart(const struct vmop_settings *settings,
				     struct vmop_report_chart *chart)
{
	chart->top = settings->arrangement.top;
	chart->with_pids = !settings->report.merged_commands;
	if (settings->has_top && !chart->top)
		chart->top = SIZE_MAX;
	return settings->chart.kind <= VMOP_CHART_BUBBLES ? vmop_chart_rows_fill(chart)
							  : vmop_chart_times_fill(chart);
}

static struct vmop_error *report_chart(struct job *job)
{
	struct vmop_settings *settings = job->settings;
	const struct vmop_arrangement all = {.unsorted =
						     settings->chart.kind >= VMOP_CHART_TIMELINE,
					     .include_symbols = &settings->include,
					     .exclude_symbols = &settings->exclude};
	struct vmop_report *report = NULL;
	struct vmop_report_chart chart = {0};
	struct vmop_error *err = vmop_rows_arrange(&job->result, &job->ratios, &all, &job->hidden);
	if (!err)
		err = vmop_report_create(&settings->report, &job->result, &job->ratios,
					 &job->hidden, &report);
	if (!err)
		err = vmop_report_chart_init(&chart, settings->chart.kind, &job->result, report);
	if (!err)
		err = fill_chart(settings, &chart);
	if (!err)
		err = print(&(const struct printed){.settings = settings, .chart = &chart.chart});
	vmop_report_chart_deinit(&chart);
	vmop_report_destroy(report);
	return err;
}

/* Print lines as a sheet, or the tree by its own format if lines is NULL. */
static struct vmop_error *report_lines(struct job *job, const struct vmop_call_lines *lines,
				       struct vmop_call_tree *tree)
{
	struct vmop_settings *settings = job->settings;
	struct vmop_report *report = NULL;
	struct vmop_call_report *calls = NULL;
	const struct vmop_call_report_options options = {
		.for_people = settings->output == &vmop_output_table,
		.long_filenames = settings->report.long_filenames,
		.shows_domain = settings->by & VMOP_BY_DOMAIN,
		.is_graph = settings->kind == VMOP_REPORT_CALLGRAPH,
		.with_self = settings->kind != VMOP_REPORT_CALLEES,
	};
	job->hidden.counts = calloc(job->result.n_events, sizeof(*job->hidden.counts));
	if (!job->hidden.counts)
		return &vmop_error_no_memory;
	job->hidden.n_rows = lines ? lines->n_hidden : 0;
	job->hidden.n_rows_beyond = lines ? lines->n_beyond : 0;
	struct vmop_error *err = vmop_report_create(&settings->report, &job->result, &job->ratios,
						    &job->hidden, &report);
	if (!err && !lines)
		err = print(&(const struct printed){
			.settings = settings,
			.sheet = vmop_report_sheet(report),
			.tree = tree,
			.inlines = settings->inlines && tree != &job->with_inlines ? &job->inlines
										   : NULL});
	if (!err && lines)
		err = vmop_call_report_create(&options, vmop_report_sheet(report), lines, tree,
					      &calls);
	if (!err && lines)
		err = print_sheet(settings, vmop_call_report_sheet(calls));
	if (!err)
		log_incomplete(settings, report);
	vmop_call_report_destroy(calls);
	vmop_report_destroy(report);
	return err;
}

static struct vmop_error *report_callgraph(struct job *job)
{
	const struct vmop_settings *settings = job->settings;
	struct vmop_callgraph graph = {0};
	struct vmop_call_lines lines = {0};
	struct vmop_error *err = vmop_callgraph_init(&graph, job->tree);
	if (!err)
		err = vmop_call_lines_of_graph(&lines, &graph, &settings->arrangement,
					       settings->output == &vmop_output_table);
	if (!err)
		err = report_lines(job, &lines, job->tree);
	vmop_call_lines_deinit(&lines);
	vmop_callgraph_deinit(&graph);
	return err;
}

static struct vmop_error *report_tree(struct job *job)
{
	const struct vmop_settings *settings = job->settings;
	bool from_callees = settings->kind == VMOP_REPORT_CALLEES;
	struct vmop_call_tree inverse = {0}, *tree = job->tree;
	struct vmop_call_lines lines = {0};
	struct vmop_error *err = NULL;
	if (from_callees) {
		tree = &inverse;
		err = vmop_inverse_tree_init(&inverse, job->tree, job->result.base,
					     settings->arrangement.threshold_percent);
	}
	if (!err)
		err = vmop_call_lines_of_tree(&lines, tree, &settings->arrangement, !from_callees);
	if (!err)
		err = report_lines(job, &lines, tree);
	vmop_call_lines_deinit(&lines);
	vmop_call_tree_deinit(&inverse);
	return err;
}

/* Return which tree the report is made of. */
static struct vmop_call_tree_options tree_options(const struct vmop_settings *settings)
{
	if (settings->kind == VMOP_REPORT_TREE_OUTPUT) {
		struct vmop_call_tree_options options = settings->tree_output->tree;
		options.groups = vmop_settings_output_groups(settings);
		return options;
	}
	if (settings->kind == VMOP_REPORT_ROWS)
		return vmop_inclusive_tree(settings->query.dimensions);
	return (struct vmop_call_tree_options){.groups = vmop_inclusive_tree(settings->by).groups};
}

/* Create the reader of stacks, and make it the query's sink. */
static struct vmop_error *read_stacks(struct job *job)
{
	struct vmop_settings *settings = job->settings;
	const struct vmop_stack_filter filter = {.any = &settings->spec.stacks,
						 .caller = &settings->callers,
						 .callee = &settings->callees};
	struct vmop_call_tree_options options = tree_options(settings);
	options.by_offset |= settings->inlines; /* they differ between addresses */
	struct vmop_error *err =
		vmop_stack_reader_create(&settings->query, &options, &filter, &job->reader);
	if (!err)
		settings->query.sink = vmop_stack_reader_sink(job->reader);
	return err;
}

/* Look up the inlined functions, and add them to the tree unless its format takes them itself. */
static struct vmop_error *add_inlines(struct job *job)
{
	struct vmop_settings *settings = job->settings;
	const struct vmop_call_tree_options options = tree_options(settings);
	bool is_separate = settings->tree_output && settings->tree_output->has_inlines;
	struct vmop_error *err =
		vmop_inline_map_init(&job->inlines, job->tree, settings->inlines_cpu_ns);
	if (!err && !is_separate) {
		err = vmop_inline_tree_init(&job->with_inlines, job->tree, &job->inlines, &options);
		job->tree = &job->with_inlines;
	}
	if (!err)
		vmop_inline_map_log(&job->inlines, &job->result);
	return err;
}

static struct vmop_error *run_query(struct job *job)
{
	struct vmop_settings *settings = job->settings;
	struct vmop_error *err = vmop_sessions_open(&settings->spec, &job->sessions);
	if (!err && vmop_settings_need_stacks(settings))
		err = read_stacks(job);
	if (err)
		return err;
	err = vmop_query_run(&settings->query, &settings->spec, job->sessions.items,
			     job->sessions.n, &job->result);
	if (job->reader)
		err = vmop_stack_reader_finish(job->reader, err, &job->tree);
	if (!err && settings->inlines)
		err = add_inlines(job);
	vmop_sessions_deinit(&job->sessions);
	if (!err && settings->children)
		err = vmop_inclusive_add(&job->result, job->tree);
	return err ? err : vmop_ratios_init(&job->ratios, &settings->ratios, &job->result);
}

/* Return about how many rows the format can print: names take some columns, each event three. */
static uint64_t max_lines(const struct vmop_settings *settings, const struct vmop_result *result)
{
	return settings->output->max_values / (8 + 3 * result->n_events * result->n_parts);
}

static struct vmop_error *report_session(struct job *job)
{
	struct vmop_settings *settings = job->settings;
	struct vmop_error *err = run_query(job);
	if (err)
		return err;
	settings->arrangement.max_lines = max_lines(settings, &job->result);
	switch (settings->kind) {
	case VMOP_REPORT_ROWS:
		err = report_rows(job);
		break;
	case VMOP_REPORT_CHART:
		err = report_chart(job);
		break;
	case VMOP_REPORT_CALLGRAPH:
		err = report_callgraph(job);
		break;
	case VMOP_REPORT_TREE_OUTPUT:
		err = report_lines(job, NULL, job->tree);
		break;
	default:
		err = report_tree(job);
	}
	if (!err)
		log_missing_symbols(&job->result);
	return err;
}

static struct vmop_error *list_sessions(struct vmop_settings *settings)
{
	struct vmop_session_list *list = NULL;
	struct vmop_error *err = vmop_session_list_create(&settings->spec, &list);
	if (!err)
		err = print_sheet(settings, vmop_session_list_sheet(list));
	vmop_session_list_destroy(list);
	return err;
}

static struct vmop_error *report_waits(struct vmop_settings *settings)
{
	struct vmop_waits_facts_of facts = {0};
	struct vmop_waits_sheet *sheet = NULL;
	struct vmop_error *err = vmop_waits_load(&settings->spec, &facts);
	if (!err)
		err = vmop_waits_sheet_create(&facts, settings->waits, &sheet);
	if (!err)
		err = print_sheet(settings, vmop_waits_sheet_of(sheet));
	if (!err && facts.losses && !shows_lines(settings)) /* the sheet has no other facts */
		vmop_log_warning("losses: %s", facts.losses);
	vmop_waits_sheet_destroy(sheet);
	vmop_waits_facts_deinit(&facts);
	return err;
}

static struct vmop_error *report_task_times(struct vmop_settings *settings)
{
	struct vmop_task_times times = {0};
	struct vmop_task_times_sheet *sheet = NULL;
	struct vmop_error *err = vmop_task_times_load(&settings->spec, &times);
	if (!err)
		err = vmop_task_times_sheet_create(&times, &sheet);
	if (!err)
		err = print_sheet(settings, vmop_task_times_sheet_of(sheet));
	vmop_task_times_sheet_destroy(sheet);
	vmop_task_times_deinit(&times);
	return err;
}

int main(int argc, char **argv)
{
	vmop_heap_prefer_huge_pages();
	setlocale(LC_CTYPE, "");
	vmop_log_init("vmopreport", VMOP_LOG_NOTICE);
	argp_err_exit_status = VMOP_EXIT_USAGE;
	struct vmop_settings settings;
	struct job job = {.settings = &settings};
	struct vmop_error *err = vmop_settings_init(&settings, argc, argv);
	if (!err)
		err = vmop_series_report_prepare(&settings);
	if (!err)
		err = vmop_gate_report_check(&settings);
	if (!err && !settings.has_width && !settings.output_file)
		settings.output_options.width_columns = vmop_terminal_columns(STDOUT_FILENO);
	if (!err)
		err = settings.gate.quiet		   ? NULL
		      : settings.braces.n		   ? vmop_compare_report(&settings)
		      : settings.list_sessions		   ? list_sessions(&settings)
		      : settings.waits == VMOP_WAITS_TASKS ? report_task_times(&settings)
		      : settings.waits			   ? report_waits(&settings)
							   : report_session(&job);
	bool is_crossed = false;
	if (!err)
		err = vmop_gate_report(&settings, &is_crossed);
	int status = vmop_error_exit_status(err);
	if (!err && is_crossed)
		status = VMOP_EXIT_CROSSED;
	vmop_log_and_destroy(VMOP_LOG_ERROR, err);
	job_deinit(&job);
	vmop_settings_deinit(&settings);
	return status;
}
