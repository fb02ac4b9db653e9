// SPDX-License-Identifier: GPL-2.0-or-later
/* The command line of vmopreport: its options, parsed and checked. */
#ifndef VMOP_OPREPORT_SETTINGS_H
#define VMOP_OPREPORT_SETTINGS_H

#include <stdbool.h>

#include "libutil/error.h"
#include "opreport/arrange/report.h"
#include "opreport/arrange/rows.h"
#include "opreport/charts/chart-settings.h"
#include "opreport/compare/braces.h"
#include "opreport/compare/per.h"
#include "opreport/gate/gate-options.h"
#include "opreport/options/symbol-options.h"
#include "opreport/output/output.h"
#include "opreport/query/query.h"
#include "opreport/query/spec.h"
#include "opreport/series/series-options.h"
#include "opreport/stacks/tree-output.h"
#include "opreport/waits/waits-sheet.h"

/* The kinds of reports. */
enum vmop_report_kind {
	VMOP_REPORT_ROWS,	 /* of the query */
	VMOP_REPORT_CALLGRAPH,	 /* functions with their callers and callees */
	VMOP_REPORT_CALLERS,	 /* a tree from the outermost callers down */
	VMOP_REPORT_CALLEES,	 /* a tree from the interrupted functions to their callers */
	VMOP_REPORT_TREE_OUTPUT, /* a format that prints a call tree itself */
	VMOP_REPORT_CHART,	 /* a picture of the rows */
};

struct vmop_settings {
	struct vmop_spec spec;
	struct vmop_words spec_words; /* the arguments that spec was made of */
	struct vmop_braces braces;    /* sides of a comparison; n 0: a report of one */
	struct vmop_per per;	      /* --per, of a comparison */
	struct vmop_symbol_options symbol_options;
	struct vmop_chart_settings chart;
	struct vmop_gate_options gate;
	struct vmop_series_options series;
	struct vmop_query query;
	struct vmop_arrangement arrangement;
	struct vmop_report_options report;
	struct vmop_output_options output_options;
	const struct vmop_output *output;
	const struct vmop_tree_output *tree_output; /* NULL: output prints a sheet */
	const char *output_file;		    /* NULL: stdout */
	struct vmop_words include, exclude, ratios, sort;
	struct vmop_words callers, callees; /* --caller, --callee */
	enum vmop_report_kind kind;
	unsigned by; /* bits of enum vmop_dimension that the user named */
	bool wants_symbols, has_accounting, has_width, has_threshold, has_top, has_per,
		list_sessions;
	bool callgraph, children; /* --callgraph, --children */
	bool inlines;		  /* --inlines, within this CPU time */
	uint64_t inlines_cpu_ns;
	enum vmop_waits_table waits; /* --waits: this table of vCPUs' time instead of samples */
	struct vmop_error *err;	     /* the first error, if argp_parse returned EINVAL */
};

/*
 * Parse the command line into *ret, decide what follows from it, and check that its options fit
 * together.  VMOP_ERROR_USAGE names the option.  Strings of argv must outlive *ret.  The caller
 * deinitialises ret also after an error.
 */
struct vmop_error *vmop_settings_init(struct vmop_settings *ret, int argc, char **argv);
void vmop_settings_deinit(struct vmop_settings *settings);

/*
 * Return the groups (VMOP_BY_...) above the stacks in the format of call stacks that is set: those
 * of --by, or the format's own.
 */
unsigned vmop_settings_output_groups(const struct vmop_settings *settings);

/* Return whether the report needs the stacks of the samples. */
bool vmop_settings_need_stacks(const struct vmop_settings *settings);

#endif
