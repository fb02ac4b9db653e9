// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/annotate/settings.h"

#include "config.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/clock.h"
#include "libutil/log.h"
#include "opreport/options/command-line.h"
#include "opreport/options/option-word.h"

const char *argp_program_version = "vmopannotate " PACKAGE_VERSION;

static const char doc[] =
	"Annotate source or machine code with the samples of one or more sessions."
	"\vSpecs choose the samples as for vmopreport: session:NAME,... domain:NAME,... "
	"image:GLOB,... event:GLOB,... task:GLOB,... cpu:N,... vcpu:N,... tgid:PID,... tid:TID,... "
	"certainty:exact,likely,ambiguous time:FROM..TO archive:DIR; an argument without a tag is "
	"an "
	"image. "
	"vmopannotate(1) has examples.";

enum {
	KEY_FORMAT = 0x100,
	KEY_SEARCH_DIRS,
	KEY_BASE_DIRS,
	KEY_OUTPUT_DIR,
	KEY_INCLUDE_FILE,
	KEY_EXCLUDE_FILE,
	KEY_OBJDUMP_PARAMS,
	KEY_CONTEXT,
	KEY_SYNTAX,
	KEY_LINES,
	KEY_WIDTH,
};

static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "What is annotated:", 1},
	{"source", 's', NULL, 0, "Source lines (the default)", 1},
	{"assembly", 'a', NULL, 0,
	 "Instructions of each function; with --source, below their source lines", 1},
	{"include-symbols", 'i', "GLOB,...", 0, "Only these functions", 1},
	{"exclude-symbols", 'e', "GLOB,...", 0, "Not these functions", 1},
	{"include-file", KEY_INCLUDE_FILE, "GLOB,...", 0,
	 "Only these source files, by path or base name", 1},
	{"exclude-file", KEY_EXCLUDE_FILE, "GLOB,...", 0, "Not these source files", 1},
	{"threshold", 't', "PERCENT", 0,
	 "Only functions with at least so much of an event (default: 0.5)", 1},
	{"exclude-dependent", 'x', NULL, 0, "Only samples in the tasks' own executables", 1},
	{NULL, 0, NULL, 0, "Where source files are:", 2},
	{"search-dirs", KEY_SEARCH_DIRS, "DIR,...", 0,
	 "Search them below these folders, and nowhere else", 2},
	{"base-dirs", KEY_BASE_DIRS, "DIR,...", 0,
	 "Remove these from the start of paths before the search, and for --output-dir", 2},
	{"lines", KEY_LINES, "SECONDS", 0,
	 "CPU time for reading source lines, and for inlined functions (default: 10)", 2},
	{NULL, 0, NULL, 0, "Output:", 4},
	{"output-dir", KEY_OUTPUT_DIR, "DIR", 0,
	 "Write an annotated copy of each source file below DIR", 4},
	{"context", 'c', "LINES|all", 0,
	 "Show so many lines around those with samples (default: 4)", 4},
	{"syntax", KEY_SYNTAX, "att|intel", 0, "Syntax of x86's instructions (default: att)", 4},
	{"format", KEY_FORMAT, "table|csv|json", 0,
	 "For people (the default), or for programs: a row for each line or instruction", 4},
	{"output-file", 'o', "FILE", 0, "Write there", 4},
	{"no-header", 'n', NULL, 0, "Omit the lines about the session", 4},
	{"width", KEY_WIDTH, "COLUMNS", 0, "Cut lines to fit (the terminal's; 0: never)", 4},
	{"objdump-params", KEY_OBJDUMP_PARAMS, "PARAMS", OPTION_HIDDEN, "", 4},
	{NULL, 0, NULL, 0, NULL, 20},
	{"verbose", 'V', NULL, 0, "Report on stderr which images lack symbols, and the reason", 20},
	{0}};

static const struct vmop_option_word syntax_words[] = {
	{"att", VMOP_SYNTAX_ATT}, {"intel", VMOP_SYNTAX_INTEL}, {0}};

#define DEFAULT_PERCENT 0.5
#define DEFAULT_CONTEXT 4
#define DEFAULT_LINES_S 10
#define MAX_LINES_S 86400

/* ---- argp ------------------------------------------------------------------- */

static struct vmop_error *take_words(struct vmop_annotate_settings *settings, int key,
				     const char *arg)
{
	switch (key) {
	case 'i':
		return vmop_words_parse(&settings->include, "--include-symbols", arg);
	case 'e':
		return vmop_words_parse(&settings->exclude, "--exclude-symbols", arg);
	case KEY_INCLUDE_FILE:
		return vmop_words_parse(&settings->include_files, "--include-file", arg);
	case KEY_EXCLUDE_FILE:
		return vmop_words_parse(&settings->exclude_files, "--exclude-file", arg);
	case KEY_SEARCH_DIRS:
		return vmop_words_parse(&settings->search_dirs, "--search-dirs", arg);
	default:
		return vmop_words_parse(&settings->base_dirs, "--base-dirs", arg);
	}
}

static struct vmop_error *take_value(struct vmop_annotate_settings *settings, int key, char *arg)
{
	unsigned value = 0;
	uint64_t seconds = 0;
	struct vmop_error *err;
	switch (key) {
	case 't':
		return vmop_option_percent_parse("--threshold", arg,
						 &settings->arrangement.threshold_percent);
	case 'c':
		settings->context = UINT64_MAX;
		return strcmp(arg, "all") ? vmop_option_number_parse("--context", arg, UINT32_MAX,
								     &settings->context)
					  : NULL;
	case KEY_SYNTAX:
		err = vmop_option_word_parse(syntax_words, "--syntax", arg, &value);
		settings->annotation.syntax = value;
		return err;
	case KEY_LINES:
		err = vmop_option_number_parse("--lines", arg, MAX_LINES_S, &seconds);
		settings->lines_cpu_ns = seconds * VMOP_NS_PER_S;
		return err;
	case KEY_FORMAT:
		return vmop_output_find(arg, false, "", &settings->output);
	case KEY_WIDTH:
		settings->has_width = true;
		return vmop_option_number_parse("--width", arg, 10000, &settings->width_columns);
	default:
		return vmop_error_new(
			VMOP_ERROR_USAGE,
			"--objdump-params: vmopannotate does not run objdump; "
			"capstone disassembles, and --syntax=intel changes the syntax");
	}
}

static error_t take_flag(struct vmop_annotate_settings *settings, int key, char *arg)
{
	switch (key) {
	case 's':
		settings->annotation.source = true;
		return 0;
	case 'a':
		settings->annotation.assembly = true;
		return 0;
	case 'x':
		settings->query.exclude_dependent = true;
		return 0;
	case 'n':
		settings->no_header = true;
		return 0;
	case 'o':
		settings->output_file = arg;
		return 0;
	case KEY_OUTPUT_DIR:
		settings->output_dir = arg;
		return 0;
	case 'V':
		vmop_log_set_level(VMOP_LOG_INFO);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t take_option(int key, char *arg, struct argp_state *state)
{
	struct vmop_annotate_settings *settings = state->input;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &settings->symbol_options;
		state->child_inputs[1] = &settings->spec;
		return 0;
	case 'i':
	case 'e':
	case KEY_INCLUDE_FILE:
	case KEY_EXCLUDE_FILE:
	case KEY_SEARCH_DIRS:
	case KEY_BASE_DIRS:
		settings->err = take_words(settings, key, arg);
		break;
	case 't':
	case 'c':
	case KEY_SYNTAX:
	case KEY_LINES:
	case KEY_FORMAT:
	case KEY_WIDTH:
	case KEY_OBJDUMP_PARAMS:
		settings->err = take_value(settings, key, arg);
		break;
	default:
		return take_flag(settings, key, arg);
	}
	return settings->err ? EINVAL : 0;
}

static struct vmop_error *parse_arguments(struct vmop_annotate_settings *settings, int argc,
					  char **argv)
{
	static const struct argp_child children[] = {
		{&vmop_symbol_options_argp, 0, "Sources of symbols:", 3},
		{&vmop_spec_argp, 0, "", 10},
		{0}};
	static const struct argp argp = {options,  take_option, "[SPEC...]", doc,
					 children, NULL,	NULL};
	struct vmop_error **const errors[] = {&settings->err, &settings->symbol_options.err,
					      &settings->spec.err, NULL};
	return vmop_command_line_parse(&argp, argc, argv, settings, errors);
}

/* ---- checks ----------------------------------------------------------------- */

static struct vmop_error *check(const struct vmop_annotate_settings *settings)
{
	bool is_table = settings->output == &vmop_output_table;
	if (settings->annotation.assembly && !vmop_disassembler_exists())
		return vmop_error_new(VMOP_ERROR_CANT,
				      "--assembly: vmop was built without capstone (configure "
				      "names its package); --source works");
	if (settings->spec.stacks.n)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "stack: does not go with vmopannotate; vmopreport has it");
	if (!settings->output_dir)
		return NULL;
	if (settings->annotation.assembly)
		return vmop_error_new(VMOP_ERROR_USAGE, "--output-dir needs --source, and does "
							"not go with --assembly");
	if (!is_table || settings->output_file)
		return vmop_error_new(VMOP_ERROR_USAGE, "--output-dir does not go with %s",
				      is_table ? "--output-file" : "--format");
	return NULL;
}

static void decide(struct vmop_annotate_settings *settings)
{
	struct vmop_query *query = &settings->query;
	if (!settings->annotation.assembly)
		settings->annotation.source = true;
	query->dimensions = VMOP_BY_DOMAIN | VMOP_BY_IMAGE | VMOP_BY_SYMBOL;
	query->details = query->idle_functions = true;
	query->threshold_percent = settings->arrangement.threshold_percent;
	query->resolver = vmop_symbol_options_resolver(&settings->symbol_options);
	settings->arrangement.include_symbols = &settings->include;
	settings->arrangement.exclude_symbols = &settings->exclude;
	settings->annotation.include_files = &settings->include_files;
	settings->annotation.exclude_files = &settings->exclude_files;
}

struct vmop_error *vmop_annotate_settings_init(struct vmop_annotate_settings *ret, int argc,
					       char **argv)
{
	*ret = (struct vmop_annotate_settings){
		.output = &vmop_output_table,
		.symbol_options.demangle = VMOP_DEMANGLE_SMART,
		.arrangement.threshold_percent = DEFAULT_PERCENT,
		.context = DEFAULT_CONTEXT,
		.lines_cpu_ns = DEFAULT_LINES_S * VMOP_NS_PER_S,
	};
	struct vmop_error *err = parse_arguments(ret, argc, argv);
	if (!err)
		decide(ret);
	return err ? err : check(ret);
}

void vmop_annotate_settings_deinit(struct vmop_annotate_settings *settings)
{
	vmop_words_deinit(&settings->include);
	vmop_words_deinit(&settings->exclude);
	vmop_words_deinit(&settings->include_files);
	vmop_words_deinit(&settings->exclude_files);
	vmop_words_deinit(&settings->search_dirs);
	vmop_words_deinit(&settings->base_dirs);
	vmop_symbol_options_deinit(&settings->symbol_options);
	vmop_spec_deinit(&settings->spec);
}
