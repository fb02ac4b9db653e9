// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/settings.h"

#include "config.h"

#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/log.h"
#include "opreport/charts/chart-times.h"
#include "opreport/options/command-line.h"
#include "opreport/options/option-word.h"
#include "opreport/query/idle.h"
#include "opreport/settings-check.h"
#include "opreport/stacks/inclusive.h"

const char *argp_program_version = "vmopreport " PACKAGE_VERSION;

static const char doc[] =
	"Report what the samples of one or more sessions hit: images, symbols, tasks, domains."
	"\vSpecs choose the samples: session:NAME,... domain:NAME,... image:GLOB,... "
	"event:GLOB,... "
	"task:GLOB,... stack:GLOB,... cpu:N,... vcpu:N,... tgid:PID,... tid:TID,... "
	"certainty:exact,likely,ambiguous time:FROM..TO archive:DIR; an "
	"argument without a tag is an image. vmopreport(1) has examples.";

enum {
	KEY_FORMAT = 0x100,
	KEY_TOP,
	KEY_RATIO,
	KEY_BY,
	KEY_ACCOUNTING,
	KEY_EXCLUDE_IDLE,
	KEY_IDLE_FUNCTIONS,
	KEY_LIST_SESSIONS,
	KEY_WIDTH,
	KEY_CHILDREN,
	KEY_TREE,
	KEY_CALLER,
	KEY_CALLEE,
	KEY_INLINES,
	KEY_PER,
	KEY_WAITS,
};

static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "Rows:", 1},
	{"symbols", 'l', NULL, 0, "A row for each symbol", 1},
	{"details", 'd', NULL, 0, "Also the addresses within each symbol", 1},
	{"by", KEY_BY, "WORD,...", 0,
	 "A row for each domain, life (of a guest that was started again), image, symbol, task, "
	 "cgroup, cpu, vcpu, mode, certainty, session, or mixtures of them",
	 1},
	{"merge", 'm', "WORD,...", 0,
	 "Merge samples that were recorded separately: cpu, tid, tgid (rows of commands), "
	 "unitmask, all",
	 1},
	{"accounting", KEY_ACCOUNTING, "cpu|domain", 0,
	 "Bill a guest only its own code, or also the hypervisor's and its VMM's work for it", 1},
	{"exclude-dependent", 'x', NULL, 0, "Only samples in the tasks' own executables", 1},
	{"exclude-idle", KEY_EXCLUDE_IDLE, NULL, 0,
	 "Leave out idle CPUs, and, by symbol, guests' idle vCPUs", 1},
	{"idle-functions", KEY_IDLE_FUNCTIONS, NULL, 0,
	 "Functions that CPUs are idle in by their names, not as one symbol [idle]", 1},
	{"include-symbols", 'i', "GLOB,...", 0, "Only these symbols", 1},
	{"exclude-symbols", 'e', "GLOB,...", 0, "Not these symbols", 1},
	{"threshold", 't', "PERCENT", 0, "Only rows with at least so much", 1},
	{"top", KEY_TOP, "N", 0, "Only the first N rows", 1},
	{"sort", 's', "WORD,...", 0,
	 "By sample (the default), session, domain, image, symbol, task, pid, cgroup, cpu, vcpu, "
	 "mode, vma, or the name of a ratio or an event",
	 1},
	{"reverse-sort", 'r', NULL, 0, "Reverse the order", 1},
	{NULL, 0, NULL, 0, "Call stacks (sessions recorded with --callgraph):", 2},
	{"callgraph", 'c', NULL, 0,
	 "Each function between its callers and its callees, with samples in it and below it", 2},
	{"tree", KEY_TREE, "callers|callees", 0,
	 "An indented tree: from the outermost callers down, or from the sampled functions to "
	 "their callers",
	 2},
	{"children", KEY_CHILDREN, NULL, 0,
	 "In rows of any kind, also the samples in code that they called", 2},
	{"caller", KEY_CALLER, "GLOB,...", 0,
	 "Only samples of functions that these called, directly or not", 2},
	{"callee", KEY_CALLEE, "GLOB,...", 0, "Only samples in these functions themselves", 2},
	{"inlines", KEY_INLINES, "SECONDS", OPTION_ARG_OPTIONAL,
	 "Also the functions that the compiler inlined, by DWARF, within SECONDS of CPU time "
	 "(default: 10)",
	 2},
	{NULL, 0, NULL, 0, "Time of guests' vCPUs (sessions recorded with --waits):", 3},
	{"waits", KEY_WAITS, "WORD", OPTION_ARG_OPTIONAL,
	 "Instead of samples: running, halted, waiting and for whom, by guests (the default) or "
	 "vcpus; culprits: who had the CPU while each guest waited; exits: by reason; tasks: how "
	 "long each guest's tasks ran, estimated by samples",
	 3},
	{NULL, 0, NULL, 0, "Comparisons, { SPEC... } { SPEC... }:", 4},
	{"per", KEY_PER, "WORD", 0,
	 "Compare shares of all samples (samples, the default), events a second (time), for each "
	 "event of that name, or for each of N[,N...] units of work done",
	 4},
	{NULL, 0, NULL, 0, "Columns:", 5},
	{"accumulated", 'a', NULL, 0, "Running sums", 5},
	{"ratio", KEY_RATIO, "WORD,...", 0,
	 "Ratios of events: auto (the default), none, ipc, cpi, mpki, [NAME=]EVENT/EVENT[:FACTOR]",
	 5},
	{"global-percent", '%', NULL, 0, "Shares of the whole session, whatever the specs", 5},
	{"long-filenames", 'f', NULL, 0, "Whole paths of images", 5},
	{"show-address", 'w', NULL, 0, "Addresses of symbols", 5},
	{NULL, 0, NULL, 0, "Output:", 7},
	{"format", KEY_FORMAT, "WORD", 0,
	 "table (the default), csv, json, xml; html: a page; of call stacks: folded, flamegraph, "
	 "pprof, perf-script, speedscope, firefox",
	 7},
	{"xml", 'X', NULL, 0, "The same as --format=xml", 7},
	{"output-file", 'o', "FILE", 0, "Write there", 7},
	{"no-header", 'n', NULL, 0, "Omit the lines above the table", 7},
	{"width", KEY_WIDTH, "COLUMNS", 0, "Shorten names to fit (the terminal's; 0: never)", 7},
	{NULL, 0, NULL, 0, "Sessions:", 10},
	{"list-sessions", KEY_LIST_SESSIONS, NULL, 0, "List them instead", 10},
	{NULL, 0, NULL, 0, NULL, 20},
	{"verbose", 'V', NULL, 0, "Report on stderr which images lack symbols, and the reason", 20},
	{0}};

/* The threshold of trees unless the user gives one, as in perf(1). */
#define DEFAULT_TREE_PERCENT 0.5

/* The CPU time of --inlines unless the user gives one, and the most. */
#define DEFAULT_INLINES_S 10
#define MAX_INLINES_S 86400

/* ---- words of options ------------------------------------------------------ */

static const struct vmop_option_word by_words[] = {
	{"domain", VMOP_BY_DOMAIN},   {"image", VMOP_BY_IMAGE},	  {"symbol", VMOP_BY_SYMBOL},
	{"task", VMOP_BY_TASK},	      {"cgroup", VMOP_BY_CGROUP}, {"cpu", VMOP_BY_CPU},
	{"vcpu", VMOP_BY_VCPU},	      {"mode", VMOP_BY_MODE},	  {"certainty", VMOP_BY_CERTAINTY},
	{"session", VMOP_BY_SESSION}, {"life", VMOP_BY_LIFE},	  {0}};

static const struct vmop_option_word merge_words[] = {
	{"cpu", VMOP_MERGE_CPU},
	{"tid", VMOP_MERGE_TID},
	{"tgid", VMOP_MERGE_TID | VMOP_MERGE_TGID},
	{"unitmask", VMOP_MERGE_UNITMASK},
	{"all", VMOP_MERGE_CPU | VMOP_MERGE_TID | VMOP_MERGE_TGID | VMOP_MERGE_UNITMASK},
	{0}};

static const struct vmop_option_word accounting_words[] = {
	{"cpu", VMOP_ACCOUNTING_CPU}, {"domain", VMOP_ACCOUNTING_DOMAIN}, {0}};

static const struct vmop_option_word tree_words[] = {
	{"callers", VMOP_REPORT_CALLERS}, {"callees", VMOP_REPORT_CALLEES}, {0}};

static const struct vmop_option_word waits_words[] = {
	{"guests", VMOP_WAITS_GUESTS},	   {"vcpus", VMOP_WAITS_VCPUS},
	{"culprits", VMOP_WAITS_CULPRITS}, {"exits", VMOP_WAITS_BY_REASON},
	{"tasks", VMOP_WAITS_TASKS},	   {0}};

/* Parse --sort.  Another word is taken for the name of a ratio or an event, and checked later. */
static struct vmop_error *parse_sort(struct vmop_words *list, struct vmop_arrangement *arrangement,
				     const char *text)
{
	struct vmop_error *err = vmop_words_parse(list, "--sort", text);
	if (!err && list->n > VMOP_MAX_SORT_KEYS)
		err = vmop_error_new(VMOP_ERROR_USAGE, "--sort takes at most %d words: '%s'",
				     VMOP_MAX_SORT_KEYS, text);
	for (size_t i = arrangement->n_sort; i < list->n && !err; i++) {
		unsigned sort = 0;
		while (sort < VMOP_N_WORDS && strcmp(vmop_sort_words[sort], list->items[i]) != 0)
			sort++;
		arrangement->sort[i] = sort;
		arrangement->names[i] = list->items[i];
		arrangement->n_sort++;
	}
	return err;
}

/* Parse the seconds of --inlines; NULL: the default. */
static struct vmop_error *parse_inlines(const char *text, uint64_t *ret_ns)
{
	char *end;
	double seconds = text ? strtod(text, &end) : DEFAULT_INLINES_S;
	if (text && (end == text || *end || !(seconds >= 0 && seconds <= MAX_INLINES_S)))
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "--inlines takes a number of seconds up to %d, not '%s'",
				      MAX_INLINES_S, text);
	*ret_ns = (uint64_t)(seconds * 1e9);
	return NULL;
}

/* ---- argp ------------------------------------------------------------------ */

static struct vmop_error *take_row_option(struct vmop_settings *settings, int key, char *arg)
{
	struct vmop_query *query = &settings->query;
	unsigned value = 0;
	struct vmop_error *err = NULL;
	switch (key) {
	case KEY_BY:
		return vmop_option_bits_parse(by_words, "--by", arg, &settings->by);
	case 'm':
		return vmop_option_bits_parse(merge_words, "--merge", arg, &query->merge);
	case KEY_ACCOUNTING:
		err = vmop_option_word_parse(accounting_words, "--accounting", arg, &value);
		query->accounting = value;
		settings->has_accounting = true;
		return err;
	case 'i':
		return vmop_words_parse(&settings->include, "--include-symbols", arg);
	case 'e':
		return vmop_words_parse(&settings->exclude, "--exclude-symbols", arg);
	case 't':
		settings->has_threshold = true;
		return vmop_option_percent_parse("--threshold", arg,
						 &settings->arrangement.threshold_percent);
	case KEY_PER:
		settings->has_per = true;
		return vmop_per_parse(arg, &settings->per);
	case KEY_TOP:
		settings->has_top = true;
		return vmop_option_number_parse("--top", arg, UINT32_MAX,
						&settings->arrangement.top);
	case 's':
		return parse_sort(&settings->sort, &settings->arrangement, arg);
	case KEY_RATIO:
		return vmop_words_parse(&settings->ratios, "--ratio", arg);
	default:
		return NULL;
	}
}

static struct vmop_error *take_stack_option(struct vmop_settings *settings, int key, char *arg)
{
	unsigned kind = 0;
	struct vmop_error *err;
	switch (key) {
	case KEY_TREE:
		err = vmop_option_word_parse(tree_words, "--tree", arg, &kind);
		settings->kind = kind;
		return err;
	case KEY_CALLER:
		return vmop_words_parse(&settings->callers, "--caller", arg);
	case KEY_CALLEE:
		return vmop_words_parse(&settings->callees, "--callee", arg);
	case KEY_INLINES:
		settings->inlines = true;
		return parse_inlines(arg, &settings->inlines_cpu_ns);
	default:
		return NULL;
	}
}

/* Find a format for sheets, else one for call trees. */
static struct vmop_error *find_format(struct vmop_settings *settings, const char *name)
{
	settings->tree_output = vmop_tree_output_find(name);
	if (settings->tree_output && settings->tree_output->lacks)
		return vmop_error_new(VMOP_ERROR_CANT, "--format=%s: vmop was built without %s",
				      name, settings->tree_output->lacks);
	if (settings->tree_output)
		return NULL;
	return vmop_output_find(name, true, vmop_tree_output_names(), &settings->output);
}

static struct vmop_error *take_output_option(struct vmop_settings *settings, int key, char *arg)
{
	uint64_t width = 0;
	unsigned table = 0;
	struct vmop_error *err;
	switch (key) {
	case KEY_FORMAT:
		return find_format(settings, arg);
	case KEY_WAITS:
		err = vmop_option_word_parse(waits_words, "--waits", arg ? arg : "guests", &table);
		settings->waits = table;
		return err;
	case KEY_WIDTH:
		err = vmop_option_number_parse("--width", arg, 10000, &width);
		settings->output_options.width_columns = width;
		settings->has_width = true;
		return err;
	default:
		return NULL;
	}
}

static error_t take_flag(struct vmop_settings *settings, int key, char *arg)
{
	switch (key) {
	case 'c':
		settings->callgraph = true;
		return 0;
	case KEY_CHILDREN:
		settings->children = true;
		return 0;
	case 'l':
		settings->wants_symbols = true;
		return 0;
	case 'd':
		settings->query.details = settings->wants_symbols = true;
		return 0;
	case 'x':
		settings->query.exclude_dependent = true;
		return 0;
	case KEY_EXCLUDE_IDLE:
		settings->query.exclude_idle = true;
		return 0;
	case KEY_IDLE_FUNCTIONS:
		settings->query.idle_functions = true;
		return 0;
	case 'r':
		settings->arrangement.reverse = true;
		return 0;
	case 'a':
		settings->report.accumulated = true;
		return 0;
	case '%':
		settings->query.of_whole_session = settings->report.global_percent = true;
		return 0;
	case 'f':
		settings->report.long_filenames = true;
		return 0;
	case 'w':
		settings->report.show_address = true;
		return 0;
	case 'o':
		settings->output_file = arg;
		return 0;
	case 'X':
		settings->output = &vmop_output_xml;
		settings->tree_output = NULL;
		return 0;
	case 'n':
		settings->output_options.no_header = true;
		return 0;
	case KEY_LIST_SESSIONS:
		settings->list_sessions = true;
		return 0;
	case 'V':
		vmop_log_set_level(VMOP_LOG_INFO);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* Keep an argument for the sides of a comparison. */
static struct vmop_error *keep_spec_word(struct vmop_settings *settings, const char *arg)
{
	struct vmop_words *words = &settings->spec_words;
	if (!vmop_array_reserve(words->items, words->capacity, words->n + 1))
		return &vmop_error_no_memory;
	words->items[words->n] = strdup(arg);
	return words->items[words->n] && ++words->n ? NULL : &vmop_error_no_memory;
}

static error_t take_option(int key, char *arg, struct argp_state *state)
{
	struct vmop_settings *settings = state->input;
	struct vmop_error *err;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &settings->symbol_options;
		state->child_inputs[1] = &settings->chart;
		state->child_inputs[2] = &settings->gate;
		state->child_inputs[3] = &settings->series;
		state->child_inputs[4] = &settings->spec;
		return 0;
	case ARGP_KEY_ARG:
		settings->err = keep_spec_word(settings, arg);
		return settings->err ? EINVAL : ARGP_ERR_UNKNOWN; /* the child parses it */
	case KEY_BY:
	case 'm':
	case KEY_ACCOUNTING:
	case 'i':
	case 'e':
	case 't':
	case KEY_PER:
	case KEY_TOP:
	case KEY_RATIO:
	case 's':
		err = take_row_option(settings, key, arg);
		break;
	case KEY_TREE:
	case KEY_CALLER:
	case KEY_CALLEE:
	case KEY_INLINES:
		err = take_stack_option(settings, key, arg);
		break;
	case KEY_FORMAT:
	case KEY_WIDTH:
	case KEY_WAITS:
		err = take_output_option(settings, key, arg);
		break;
	default:
		return take_flag(settings, key, arg);
	}
	settings->err = err;
	return err ? EINVAL : 0;
}

static struct vmop_error *parse_arguments(struct vmop_settings *settings, int argc, char **argv)
{
	static const struct argp_child children[] = {
		{&vmop_symbol_options_argp, 0, "Sources of symbols:", 6},
		{&vmop_chart_argp, 0, "Charts:", 8},
		{&vmop_gate_argp, 0, "Gates:", 9},
		{&vmop_series_argp, 0, NULL, 1},
		{&vmop_spec_argp, 0, "", 10},
		{0}};
	static const struct argp argp = {
		options, take_option, "[SPEC...]\n[SPEC...] { SPEC... } { SPEC... }", doc, children,
		NULL,	 NULL};
	struct vmop_error *err = vmop_braces_init(&settings->braces, argc, argv);
	if (err)
		return err;
	struct vmop_error **const errors[] = {&settings->err,
					      &settings->symbol_options.err,
					      &settings->chart.err,
					      &settings->series.err,
					      &settings->gate.err,
					      &settings->spec.err,
					      NULL};
	return vmop_command_line_parse(&argp, settings->braces.argc, settings->braces.argv,
				       settings, errors);
}

/* ---- from options to a query ----------------------------------------------- */

static bool includes_idle(const struct vmop_settings *settings)
{
	return vmop_words_match(&settings->include, vmop_idle_symbol.name);
}

/* Decide which report of stacks is made: its functions are always those of symbols. */
static void decide_kind(struct vmop_settings *settings)
{
	if (settings->tree_output)
		settings->kind = VMOP_REPORT_TREE_OUTPUT;
	else if (settings->callgraph && settings->kind == VMOP_REPORT_ROWS)
		settings->kind = VMOP_REPORT_CALLGRAPH;
	else if (settings->chart.is_wanted && settings->kind == VMOP_REPORT_ROWS)
		settings->kind = VMOP_REPORT_CHART;
	settings->wants_symbols |= settings->output->by_symbol;
	if (settings->kind == VMOP_REPORT_ROWS || settings->kind == VMOP_REPORT_CHART)
		return;
	settings->wants_symbols = true;
	bool is_tree = settings->kind != VMOP_REPORT_CALLGRAPH;
	if (is_tree && !settings->has_threshold && settings->kind != VMOP_REPORT_TREE_OUTPUT)
		settings->arrangement.threshold_percent = DEFAULT_TREE_PERCENT;
}

bool vmop_settings_need_stacks(const struct vmop_settings *settings)
{
	bool is_of_rows = settings->kind == VMOP_REPORT_ROWS || settings->kind == VMOP_REPORT_CHART;
	return !is_of_rows || settings->children || settings->spec.stacks.n ||
	       settings->callers.n || settings->callees.n;
}

unsigned vmop_settings_output_groups(const struct vmop_settings *settings)
{
	const struct vmop_tree_output *output = settings->tree_output;
	if (settings->by && !output->has_own_groups)
		return vmop_inclusive_tree(settings->by).groups;
	return output->tree.groups;
}

static bool has_time_axis(enum vmop_chart_kind kind)
{
	return kind == VMOP_CHART_TIMELINE || kind == VMOP_CHART_HEAT;
}

static unsigned default_chart_dimensions(enum vmop_chart_kind kind)
{
	return kind == VMOP_CHART_HEAT	     ? 0
	       : kind == VMOP_CHART_TIMELINE ? VMOP_BY_DOMAIN
					     : VMOP_BY_IMAGE;
}

/* Return the dimensions of the rows that the options ask for. */
static unsigned find_dimensions(const struct vmop_settings *settings)
{
	unsigned by = settings->by ? settings->by : VMOP_BY_IMAGE;
	if (settings->kind == VMOP_REPORT_CHART && !settings->by && !settings->wants_symbols)
		by = default_chart_dimensions(settings->chart.kind);
	if (settings->wants_symbols)
		by |= VMOP_BY_SYMBOL;
	if (by & VMOP_BY_SYMBOL)
		by |= VMOP_BY_IMAGE;
	/* Images, tasks, cgroups, vCPUs and lives belong to a domain. */
	if (by & (VMOP_BY_IMAGE | VMOP_BY_TASK | VMOP_BY_CGROUP | VMOP_BY_VCPU | VMOP_BY_LIFE))
		by |= VMOP_BY_DOMAIN;
	/* Show separately recorded CPUs separately unless merged, as OProfile's opreport does. */
	if (!settings->by && !(settings->query.merge & VMOP_MERGE_CPU) &&
	    settings->kind == VMOP_REPORT_ROWS)
		by |= VMOP_BY_CPU;
	if (settings->tree_output)
		by |= vmop_settings_output_groups(settings);
	if (settings->kind == VMOP_REPORT_CHART && has_time_axis(settings->chart.kind))
		by |= VMOP_BY_TIME;
	return by;
}

static void decide(struct vmop_settings *settings)
{
	struct vmop_query *query = &settings->query;
	decide_kind(settings);
	if (settings->tree_output)
		query->merge |= settings->tree_output->merge;
	query->dimensions = find_dimensions(settings);
	query->by_part = (query->dimensions & ~(unsigned)VMOP_BY_LIFE) == VMOP_BY_DOMAIN;
	if (query->by_part) { /* a bill */
		query->of_whole_session = true;
		if (!settings->has_accounting)
			query->accounting = VMOP_ACCOUNTING_DOMAIN;
	}
	query->threshold_percent = settings->arrangement.threshold_percent;
	query->time_slots = settings->chart.kind == VMOP_CHART_HEAT ? VMOP_CHART_HEAT_SLOTS
								    : VMOP_CHART_TIMELINE_SLOTS;
	/* A user who names an idle function wants to see it. */
	query->idle_functions |= settings->include.n && !includes_idle(settings);
	vmop_symbol_options_find_cache(&settings->symbol_options);
	query->resolver = vmop_symbol_options_resolver(&settings->symbol_options);
	settings->arrangement.include_symbols = &settings->include;
	settings->arrangement.exclude_symbols = &settings->exclude;
	settings->report.by = settings->by;
	if (settings->output != &vmop_output_table)
		settings->report.long_filenames = true; /* programs need no short names */
	settings->report.merged_commands = query->merge & VMOP_MERGE_TGID;
}

struct vmop_error *vmop_settings_init(struct vmop_settings *ret, int argc, char **argv)
{
	*ret = (struct vmop_settings){.output = &vmop_output_table,
				      .symbol_options.demangle = VMOP_DEMANGLE_SMART};
	struct vmop_error *err = parse_arguments(ret, argc, argv);
	if (err)
		return err;
	decide(ret);
	err = vmop_settings_check_format(ret);
	if (!err)
		err = vmop_chart_settings_decide(&ret->chart, ret->output_file);
	return err ? err : vmop_settings_check(ret);
}

void vmop_settings_deinit(struct vmop_settings *settings)
{
	vmop_words_deinit(&settings->include);
	vmop_words_deinit(&settings->exclude);
	vmop_symbol_options_deinit(&settings->symbol_options);
	vmop_words_deinit(&settings->ratios);
	vmop_words_deinit(&settings->sort);
	vmop_words_deinit(&settings->callers);
	vmop_words_deinit(&settings->callees);
	vmop_words_deinit(&settings->spec_words);
	vmop_braces_deinit(&settings->braces);
	vmop_gate_options_deinit(&settings->gate);
	vmop_spec_deinit(&settings->spec);
}
