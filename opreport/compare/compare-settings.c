// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/compare/compare-settings.h"

#include "config.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/log.h"
#include "libutil/parse.h"
#include "opreport/compare/comparison.h"
#include "opreport/compare/side-words.h"
#include "opreport/options/command-line.h"
#include "opreport/options/option-word.h"

const char *argp_program_version = "vmopcompare " PACKAGE_VERSION;

static const char doc[] =
	"Compare sessions, or parts of them: the functions of two builds, of a host and its guest, "
	"of a kernel and the next one."
	"\vA SIDE is a session's name, or specs of vmopreport in one word, such as 'session:monday "
	"domain:web'. vmopcompare(1) has examples.";

enum {
	KEY_BY = 0x100,
	KEY_PER,
	KEY_TOP,
	KEY_ACCOUNTING,
	KEY_EXCLUDE_IDLE,
	KEY_SPEC,
	KEY_FORMAT,
	KEY_WIDTH,
	KEY_OUTPUT_DIR,
	KEY_SESSION_DIR,
	KEY_ARCHIVE,
	KEY_RUN,
	KEY_GUEST,
	KEY_GUEST_RUN,
	KEY_RECORD,
	KEY_TIMEOUT,
};

#define DEFAULT_TOP 10

/* The longest that each recording of --run takes, unless the user gives a time. */
#define DEFAULT_TIMEOUT_NS (600 * VMOP_NS_PER_S)

static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "Rows:", 1},
	{"by", KEY_BY, "WORD,...", 0,
	 "A row for each symbol (the default), image, task, cgroup, domain, or mixtures of them",
	 1},
	{"per", KEY_PER, "WORD", 0,
	 "Compare shares of all samples (samples, the default), events a second (time), for each "
	 "event of that name (such as instructions), or for each of N[,N...] units of work done",
	 1},
	{"spec", KEY_SPEC, "SPEC", 0, "Only samples that this spec selects, in all sides", 1},
	{"accounting", KEY_ACCOUNTING, "cpu|domain", 0,
	 "Bill a guest only its own code, or also the hypervisor's and its VMM's work for it", 1},
	{"exclude-idle", KEY_EXCLUDE_IDLE, NULL, 0, "Leave out idle CPUs and idle vCPUs", 1},
	{"exclude-dependent", 'x', NULL, 0, "Only samples in the tasks' own executables", 1},
	{"top", KEY_TOP, "N", 0,
	 "Only the first N rows, and the rest as one (10 in tables; 0: all)", 1},
	{"sort", 's', "WORD", 0, "By difference (the default), ratio, count, image or symbol", 1},
	{"reverse-sort", 'r', NULL, 0, "Reverse the order", 1},
	{NULL, 0, NULL, 0, "Output:", 5},
	{"format", KEY_FORMAT, "table|csv|json|flamegraph", 0,
	 "For people (the default), for programs, or of call stacks", 5},
	{"output-file", 'o', "FILE", 0, "Write there", 5},
	{"output-dir", KEY_OUTPUT_DIR, "DIR", 0,
	 "Write CSV files there: one for each event, and joined.csv", 5},
	{"no-header", 'n', NULL, 0, "Omit the lines above the table", 5},
	{"width", KEY_WIDTH, "COLUMNS", 0, "Shorten names to fit (the terminal's; 0: never)", 5},
	{NULL, 0, NULL, 0, "Recording a program on the host and in a guest:", 8},
	{"run", KEY_RUN, "COMMAND", 0, "Record COMMAND on the host", 8},
	{"guest", KEY_GUEST, "NAME", 0, "Then record the guest of that name", 8},
	{"guest-run", KEY_GUEST_RUN, "COMMAND", 0,
	 "While COMMAND runs, which makes the guest do the same: \"ssh guest ./cg\"", 8},
	{"record", KEY_RECORD, "OPTIONS", 0, "Options for vmopcontrol --run, such as '-e cycles'",
	 8},
	{"timeout", KEY_TIMEOUT, "TIME", 0, "The longest that each recording may take (10m)", 8},
	{NULL, 0, NULL, 0, "Sessions:", 10},
	{"session-dir", KEY_SESSION_DIR, "DIR", 0, "Where sessions are (" VMOP_STATEDIR ")", 10},
	{"archive", KEY_ARCHIVE, "DIR", 0,
	 "The directory of an imported archive (vmoparchive), for sides that name none", 10},
	{NULL, 0, NULL, 0, NULL, 20},
	{"verbose", 'V', NULL, 0, "Report on stderr which images lack symbols, and the reason", 20},
	{0}};

static const struct vmop_option_word by_words[] = {{"symbol", VMOP_BY_SYMBOL | VMOP_BY_IMAGE},
						   {"image", VMOP_BY_IMAGE},
						   {"task", VMOP_BY_TASK},
						   {"cgroup", VMOP_BY_CGROUP},
						   {"domain", VMOP_BY_DOMAIN},
						   {0}};

static const struct vmop_option_word accounting_words[] = {
	{"cpu", VMOP_ACCOUNTING_CPU}, {"domain", VMOP_ACCOUNTING_DOMAIN}, {0}};

static struct vmop_error *add_side(struct vmop_compare_settings *settings, const char *text)
{
	size_t n = settings->request.n_sides;
	if (n == VMOP_SIDES_MAX)
		return vmop_error_new(VMOP_ERROR_USAGE, "at most %d sides can be compared",
				      VMOP_SIDES_MAX);
	settings->request.n_sides++;
	struct vmop_error *err = vmop_side_words_split(text, true, &settings->sides[n]);
	if (!err && !settings->sides[n].n)
		err = vmop_error_new(VMOP_ERROR_USAGE,
				     "a side is a session or a list of specs, not '%s'", text);
	return err;
}

static struct vmop_error *add_spec(struct vmop_compare_settings *settings, const char *text)
{
	return vmop_side_words_split(text, false, &settings->common);
}

static struct vmop_error *take_row_option(struct vmop_compare_settings *settings, int key,
					  char *arg)
{
	struct vmop_compare_request *request = &settings->request;
	unsigned value = 0;
	struct vmop_error *err;
	switch (key) {
	case KEY_BY:
		return vmop_option_bits_parse(by_words, "--by", arg, &request->by);
	case KEY_PER:
		return vmop_per_parse(arg, &request->per);
	case KEY_SPEC:
		return add_spec(settings, arg);
	case KEY_ARCHIVE:
		vmop_archive_release(vmop_steal(&request->archive));
		return vmop_archive_open(arg, &request->archive);
	case KEY_ACCOUNTING:
		err = vmop_option_word_parse(accounting_words, "--accounting", arg, &value);
		request->query.accounting = value;
		return err;
	case KEY_TOP:
		settings->has_top = true;
		return vmop_option_number_parse("--top", arg, UINT32_MAX,
						&request->output.ordering.top);
	default:
		return vmop_compare_sort_parse(arg, &request->output.ordering.sort);
	}
}

static struct vmop_error *take_output_option(struct vmop_compare_settings *settings, int key,
					     char *arg)
{
	struct vmop_compare_request *request = &settings->request;
	uint64_t width = 0;
	struct vmop_error *err;
	switch (key) {
	case KEY_FORMAT:
		request->flamegraph = !strcmp(arg, "flamegraph");
		return request->flamegraph ? NULL
					   : vmop_output_find(arg, false, ", flamegraph",
							      &request->output.format);
	default:
		err = vmop_option_number_parse("--width", arg, 10000, &width);
		request->output.options.width_columns = width;
		settings->has_width = true;
		return err;
	}
}

static struct vmop_error *take_run_option(struct vmop_compare_settings *settings, int key,
					  char *arg)
{
	struct vmop_one_command *command = &settings->one_command;
	switch (key) {
	case KEY_RUN:
		command->run = arg;
		return NULL;
	case KEY_GUEST:
		command->guest = arg;
		return NULL;
	case KEY_GUEST_RUN:
		command->guest_run = arg;
		return NULL;
	case KEY_RECORD:
		return vmop_side_words_split(arg, false, &command->options);
	default:
		if (vmop_parse_duration_ns(arg, &command->timeout_ns) &&
		    command->timeout_ns >= VMOP_NS_PER_S &&
		    command->timeout_ns <= 7 * 86400 * VMOP_NS_PER_S)
			return NULL;
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "--timeout: '%s' is not a time such as 30s, 10m or 2h, from "
				      "1s to 7d",
				      arg);
	}
}

static error_t take_flag(struct vmop_compare_settings *settings, int key, char *arg)
{
	struct vmop_compare_request *request = &settings->request;
	switch (key) {
	case KEY_EXCLUDE_IDLE:
		request->query.exclude_idle = true;
		return 0;
	case 'x':
		request->query.exclude_dependent = true;
		return 0;
	case 'r':
		request->output.ordering.reverse = true;
		return 0;
	case 'o':
		request->output.file = arg;
		return 0;
	case KEY_OUTPUT_DIR:
		request->output_dir = arg;
		return 0;
	case 'n':
		request->output.options.no_header = true;
		return 0;
	case KEY_SESSION_DIR:
		request->session_dir = arg;
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
	struct vmop_compare_settings *settings = state->input;
	struct vmop_error *err;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &settings->symbol_options;
		return 0;
	case ARGP_KEY_ARG:
		err = add_side(settings, arg);
		break;
	case KEY_BY:
	case KEY_PER:
	case KEY_SPEC:
	case KEY_ARCHIVE:
	case KEY_ACCOUNTING:
	case KEY_TOP:
	case 's':
		err = take_row_option(settings, key, arg);
		break;
	case KEY_FORMAT:
	case KEY_WIDTH:
		err = take_output_option(settings, key, arg);
		break;
	case KEY_RUN:
	case KEY_GUEST:
	case KEY_GUEST_RUN:
	case KEY_RECORD:
	case KEY_TIMEOUT:
		err = take_run_option(settings, key, arg);
		break;
	default:
		return take_flag(settings, key, arg);
	}
	settings->err = err;
	return err ? EINVAL : 0;
}

static struct vmop_error *parse_arguments(struct vmop_compare_settings *settings, int argc,
					  char **argv)
{
	static const struct argp_child children[] = {
		{&vmop_symbol_options_argp, 0, "Sources of symbols:", 4}, {0}};
	static const struct argp argp = {
		options,
		take_option,
		"SIDE SIDE...\n--run=COMMAND --guest=NAME --guest-run=COMMAND --output-dir=DIR",
		doc,
		children,
		NULL,
		NULL};
	struct vmop_error **const errors[] = {&settings->err, &settings->symbol_options.err, NULL};
	return vmop_command_line_parse(&argp, argc, argv, settings, errors);
}

static struct vmop_side_words words_of(const struct vmop_words *words)
{
	return (struct vmop_side_words){(const char *const *)words->items, words->n};
}

/* Check the options of --run. */
static struct vmop_error *check_run(const struct vmop_compare_settings *settings)
{
	const struct vmop_one_command *command = &settings->one_command;
	const struct vmop_compare_request *request = &settings->request;
	const struct {
		const char *option, *value;
	} needed[] = {{"--run", command->run},
		      {"--guest", command->guest},
		      {"--guest-run", command->guest_run},
		      {"--output-dir", request->output_dir}};
	const char *missing = NULL;
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed) && !missing; i++)
		if (!needed[i].value || !*needed[i].value)
			missing = needed[i].option;
	if (missing)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "--run, --guest, --guest-run and --output-dir go together; "
				      "%s is missing or empty",
				      missing);
	if (request->n_sides)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "--run records both sides: no SIDE with it");
	if (request->flamegraph)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "--format=flamegraph does not go with --run");
	return NULL;
}

static bool wants_run(const struct vmop_compare_settings *settings)
{
	const struct vmop_one_command *command = &settings->one_command;
	return command->run || command->guest || command->guest_run;
}

/* Check what goes with --output-dir. */
static struct vmop_error *check_dir(const struct vmop_compare_settings *settings)
{
	const struct vmop_compare_request *request = &settings->request;
	if (!request->output_dir || wants_run(settings) ||
	    (!request->output.file && !request->flamegraph &&
	     request->output.format == &vmop_output_table))
		return NULL;
	return vmop_error_new(VMOP_ERROR_USAGE, "--output-dir does not go with %s",
			      request->output.file ? "--output-file" : "--format");
}

static struct vmop_error *decide(struct vmop_compare_settings *settings)
{
	struct vmop_compare_request *request = &settings->request;
	struct vmop_error *err = wants_run(settings) ? check_run(settings) : check_dir(settings);
	if (err)
		return err;
	if (!wants_run(settings) && request->n_sides < 2)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "a comparison needs two sides or more, such as 'vmopcompare "
				      "before after'");
	request->common = words_of(&settings->common);
	for (size_t i = 0; i < request->n_sides; i++)
		request->sides[i] = words_of(&settings->sides[i]);
	unsigned by = request->by ? request->by : VMOP_BY_SYMBOL | VMOP_BY_IMAGE;
	request->query.dimensions = by | VMOP_BY_DOMAIN;
	if (request->flamegraph) /* the groups above the stacks */
		request->query.dimensions |= VMOP_BY_SYMBOL | VMOP_BY_IMAGE;
	if (by & VMOP_BY_TASK)
		request->query.merge = VMOP_MERGE_TID | VMOP_MERGE_TGID;
	vmop_symbol_options_find_cache(&settings->symbol_options);
	request->query.resolver = vmop_symbol_options_resolver(&settings->symbol_options);
	if (!settings->has_top && request->output.format == &vmop_output_table)
		request->output.ordering.top = DEFAULT_TOP;
	if (request->output_dir && !settings->has_top && !wants_run(settings))
		request->output.ordering.top = 0;
	return NULL;
}

struct vmop_error *vmop_compare_settings_init(struct vmop_compare_settings *ret, int argc,
					      char **argv)
{
	*ret = (struct vmop_compare_settings){.request.output.format = &vmop_output_table,
					      .one_command.timeout_ns = DEFAULT_TIMEOUT_NS,
					      .symbol_options.demangle = VMOP_DEMANGLE_SMART};
	struct vmop_error *err = parse_arguments(ret, argc, argv);
	return err ? err : decide(ret);
}

void vmop_compare_settings_deinit(struct vmop_compare_settings *settings)
{
	vmop_symbol_options_deinit(&settings->symbol_options);
	vmop_archive_release(settings->request.archive);
	vmop_words_deinit(&settings->common);
	vmop_words_deinit(&settings->one_command.options);
	for (size_t i = 0; i < VMOP_SIDES_MAX; i++)
		vmop_words_deinit(&settings->sides[i]);
}
