// SPDX-License-Identifier: GPL-2.0-or-later
/* vmopreport: report the samples of sessions.  See vmopreport(1). */
#include "config.h"

#include <argp.h>
#include <errno.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/heap.h"
#include "libutil/log.h"
#include "libutil/options.h"
#include "libutil/parse.h"
#include "libutil/safe-dir.h"
#include "opreport/arrange/report.h"
#include "opreport/arrange/rows.h"
#include "opreport/arrange/session.h"
#include "opreport/output/output.h"
#include "opreport/query/idle.h"
#include "opreport/query/query.h"
#include "opreport/query/spec.h"

const char *argp_program_version = "vmopreport " PACKAGE_VERSION;

static const char doc[] =
	"Report what the samples of one or more sessions hit: images, symbols, tasks, domains."
	"\vSpecs choose the samples: session:NAME,... domain:NAME,... image:GLOB,... "
	"event:GLOB,... "
	"task:GLOB,... cpu:N,... vcpu:N,... tgid:PID,... tid:TID,... "
	"certainty:exact,likely,ambiguous time:FROM..TO; an argument "
	"without a tag is an image. vmopreport(1) has examples.";

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
	{NULL, 0, NULL, 0, "Columns:", 2},
	{"accumulated", 'a', NULL, 0, "Running sums", 2},
	{"ratio", KEY_RATIO, "WORD,...", 0,
	 "Ratios of events: auto (the default), none, ipc, cpi, mpki, [NAME=]EVENT/EVENT[:FACTOR]",
	 2},
	{"global-percent", '%', NULL, 0, "Shares of the whole session, whatever the specs", 2},
	{"long-filenames", 'f', NULL, 0, "Whole paths of images", 2},
	{"show-address", 'w', NULL, 0, "Addresses of symbols", 2},
	{"demangle", 'D', "none|smart|normal", 0,
	 "Names of C++, Rust, ... as they are, without parameters (smart, the default), in full",
	 2},
	{NULL, 0, NULL, 0, "Sources of symbols:", 3},
	{"image-path", 'p', "DIR,...", 0, "Folders with images' files", 3},
	{"root", 'R', "DIR", 0, "A prefix for the paths of all images", 3},
	{NULL, 0, NULL, 0, "Output:", 4},
	{"format", KEY_FORMAT, "table|csv|json", 0, "For people (the default) or programs", 4},
	{"output-file", 'o', "FILE", 0, "Write there", 4},
	{"no-header", 'n', NULL, 0, "Omit the lines above the table", 4},
	{"width", KEY_WIDTH, "COLUMNS", 0, "Shorten names to fit (the terminal's; 0: never)", 4},
	{NULL, 0, NULL, 0, "Sessions:", 10},
	{"list-sessions", KEY_LIST_SESSIONS, NULL, 0, "List them instead", 10},
	{NULL, 0, NULL, 0, NULL, 20},
	{"verbose", 'V', NULL, 0, "Report on stderr which images lack symbols, and the reason", 20},
	{0}};

struct settings {
	struct vmop_spec spec;
	struct vmop_query query;
	struct vmop_arrangement arrangement;
	struct vmop_report_options report;
	struct vmop_output_options output_options;
	const struct vmop_output *output;
	const char *output_file; /* NULL: stdout */
	struct vmop_words include, exclude, image_paths, ratios, sort;
	unsigned by;
	bool wants_symbols, has_accounting, has_width, list_sessions;
	struct vmop_error *err; /* the first error, if argp_parse returned EINVAL */
};

/* ---- words of options ------------------------------------------------------ */

struct word {
	const char *name;
	unsigned value;
};

static const struct word by_words[] = {
	{"domain", VMOP_BY_DOMAIN},   {"image", VMOP_BY_IMAGE},	  {"symbol", VMOP_BY_SYMBOL},
	{"task", VMOP_BY_TASK},	      {"cgroup", VMOP_BY_CGROUP}, {"cpu", VMOP_BY_CPU},
	{"vcpu", VMOP_BY_VCPU},	      {"mode", VMOP_BY_MODE},	  {"certainty", VMOP_BY_CERTAINTY},
	{"session", VMOP_BY_SESSION}, {"life", VMOP_BY_LIFE},	  {0}};

static const struct word merge_words[] = {
	{"cpu", VMOP_MERGE_CPU},
	{"tid", VMOP_MERGE_TID},
	{"tgid", VMOP_MERGE_TID | VMOP_MERGE_TGID},
	{"unitmask", VMOP_MERGE_UNITMASK},
	{"all", VMOP_MERGE_CPU | VMOP_MERGE_TID | VMOP_MERGE_TGID | VMOP_MERGE_UNITMASK},
	{0}};

static const struct word accounting_words[] = {
	{"cpu", VMOP_ACCOUNTING_CPU}, {"domain", VMOP_ACCOUNTING_DOMAIN}, {0}};

static const struct word demangle_words[] = {{"none", VMOP_DEMANGLE_NONE},
					     {"smart", VMOP_DEMANGLE_SMART},
					     {"normal", VMOP_DEMANGLE_FULL},
					     {"full", VMOP_DEMANGLE_FULL},
					     {0}};

static struct vmop_error *parse_word(const struct word *words, const char *option, const char *text,
				     unsigned *ret)
{
	for (const struct word *word = words; word->name; word++) {
		if (!strcmp(word->name, text)) {
			*ret = word->value;
			return NULL;
		}
	}
	char accepted[256] = "";
	size_t len = 0;
	for (const struct word *word = words; word->name && len < sizeof(accepted); word++)
		len += (size_t)snprintf(accepted + len, sizeof(accepted) - len, "%s%s",
					word == words ? "" : ", ", word->name);
	return vmop_error_new(VMOP_ERROR_USAGE, "%s: unknown word '%s'; accepted: %s", option, text,
			      accepted);
}

static struct vmop_error *parse_bits(const struct word *words, const char *option, const char *text,
				     unsigned *ret)
{
	_cleanup_(vmop_words_deinit) struct vmop_words list = {0};
	struct vmop_error *err = vmop_words_parse(&list, option, text);
	for (size_t i = 0; i < list.n && !err; i++) {
		unsigned bits = 0;
		err = parse_word(words, option, list.items[i], &bits);
		*ret |= bits;
	}
	return err;
}

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

static struct vmop_error *parse_percent(const char *text, double *ret)
{
	char *end;
	double percent = strtod(text, &end); /* LC_NUMERIC stays "C" */
	if (end == text || *end || !(percent >= 0 && percent <= 100))
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "--threshold takes a number from 0 to 100, not '%s'", text);
	*ret = percent;
	return NULL;
}

static struct vmop_error *parse_number(const char *option, const char *text, uint64_t max,
				       uint64_t *ret)
{
	if (vmop_parse_u64(text, 10, ret) && *ret <= max)
		return NULL;
	return vmop_error_new(VMOP_ERROR_USAGE, "%s takes a number up to %llu, not '%s'", option,
			      (unsigned long long)max, text);
}

/* ---- argp ------------------------------------------------------------------ */

static struct vmop_error *take_row_option(struct settings *settings, int key, char *arg)
{
	struct vmop_query *query = &settings->query;
	unsigned value = 0;
	struct vmop_error *err = NULL;
	switch (key) {
	case KEY_BY:
		return parse_bits(by_words, "--by", arg, &settings->by);
	case 'm':
		return parse_bits(merge_words, "--merge", arg, &query->merge);
	case KEY_ACCOUNTING:
		err = parse_word(accounting_words, "--accounting", arg, &value);
		query->accounting = value;
		settings->has_accounting = true;
		return err;
	case 'i':
		return vmop_words_parse(&settings->include, "--include-symbols", arg);
	case 'e':
		return vmop_words_parse(&settings->exclude, "--exclude-symbols", arg);
	case 't':
		return parse_percent(arg, &settings->arrangement.threshold_percent);
	case KEY_TOP:
		return parse_number("--top", arg, UINT32_MAX, &settings->arrangement.top);
	case 's':
		return parse_sort(&settings->sort, &settings->arrangement, arg);
	case KEY_RATIO:
		return vmop_words_parse(&settings->ratios, "--ratio", arg);
	case 'D':
		err = parse_word(demangle_words, "--demangle", arg, &value);
		query->resolver.demangle = value;
		return err;
	default:
		return NULL;
	}
}

static struct vmop_error *take_output_option(struct settings *settings, int key, char *arg)
{
	uint64_t width = 0;
	struct vmop_error *err;
	switch (key) {
	case KEY_FORMAT:
		return vmop_output_find(arg, &settings->output);
	case KEY_WIDTH:
		err = parse_number("--width", arg, 10000, &width);
		settings->output_options.width_columns = width;
		settings->has_width = true;
		return err;
	case 'p':
		return vmop_words_parse(&settings->image_paths, "--image-path", arg);
	default:
		return NULL;
	}
}

static error_t take_flag(struct settings *settings, int key, char *arg)
{
	switch (key) {
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
	case 'R':
		settings->query.resolver.root = arg;
		return 0;
	case 'o':
		settings->output_file = arg;
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

static error_t take_option(int key, char *arg, struct argp_state *state)
{
	struct settings *settings = state->input;
	struct vmop_error *err;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &settings->spec;
		return 0;
	case KEY_BY:
	case 'm':
	case KEY_ACCOUNTING:
	case 'i':
	case 'e':
	case 't':
	case KEY_TOP:
	case KEY_RATIO:
	case 's':
	case 'D':
		err = take_row_option(settings, key, arg);
		break;
	case KEY_FORMAT:
	case KEY_WIDTH:
	case 'p':
		err = take_output_option(settings, key, arg);
		break;
	default:
		return take_flag(settings, key, arg);
	}
	settings->err = err;
	return err ? EINVAL : 0;
}

static struct vmop_error *parse_arguments(struct settings *settings, int argc, char **argv)
{
	static const struct argp_child children[] = {{&vmop_spec_argp, 0, "", 10}, {0}};
	static const struct argp argp = {options,  take_option, "[SPEC...]", doc,
					 children, NULL,	NULL};
	error_t failed = vmop_options_parse(&argp, argc, argv, 0, settings);
	if (!failed)
		return NULL;
	if (settings->err)
		return vmop_steal(&settings->err);
	if (settings->spec.err)
		return vmop_steal(&settings->spec.err);
	return vmop_error_os(failed, "reading the command line");
}

/* ---- from options to a query ----------------------------------------------- */

static bool includes_idle(const struct settings *settings)
{
	return vmop_words_match(&settings->include, vmop_idle_symbol.name);
}

static void decide(struct settings *settings)
{
	struct vmop_query *query = &settings->query;
	unsigned by = settings->by ? settings->by : VMOP_BY_IMAGE;
	if (settings->wants_symbols)
		by |= VMOP_BY_SYMBOL;
	if (by & VMOP_BY_SYMBOL)
		by |= VMOP_BY_IMAGE;
	/* Images, tasks, cgroups, vCPUs and lives belong to a domain. */
	query->dimensions =
		by |
		(by & (VMOP_BY_IMAGE | VMOP_BY_TASK | VMOP_BY_CGROUP | VMOP_BY_VCPU | VMOP_BY_LIFE)
			 ? VMOP_BY_DOMAIN
			 : 0);
	/* Show separately recorded CPUs separately unless merged, as OProfile's opreport does.
	 */
	if (!settings->by && !(query->merge & VMOP_MERGE_CPU))
		query->dimensions |= VMOP_BY_CPU;
	query->by_part = (query->dimensions & ~(unsigned)VMOP_BY_LIFE) == VMOP_BY_DOMAIN;
	if (query->by_part) { /* a bill */
		query->of_whole_session = true;
		if (!settings->has_accounting)
			query->accounting = VMOP_ACCOUNTING_DOMAIN;
	}
	query->threshold_percent = settings->arrangement.threshold_percent;
	/* A user who names an idle function wants to see it. */
	query->idle_functions |= settings->include.n && !includes_idle(settings);
	query->resolver.image_paths = (const char *const *)settings->image_paths.items;
	query->resolver.n_image_paths = settings->image_paths.n;
	query->resolver.use_debuginfod = true;
	settings->arrangement.include_symbols = &settings->include;
	settings->arrangement.exclude_symbols = &settings->exclude;
	settings->report.by = settings->by;
	if (settings->output != &vmop_output_table)
		settings->report.long_filenames = true; /* programs need no short names */
	settings->report.merged_commands = query->merge & VMOP_MERGE_TGID;
}

static struct vmop_error *check(const struct settings *settings)
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
	return NULL;
}

/* ---- output ----------------------------------------------------------------- */

/* Return the columns of the terminal at fd, or 0 if fd is no terminal. */
static size_t terminal_width(int fd)
{
	struct winsize size;
	if (!isatty(fd) || ioctl(fd, TIOCGWINSZ, &size))
		return 0;
	return size.ws_col;
}

static struct vmop_error *print_to_file(const struct settings *settings,
					const struct vmop_sheet *sheet)
{
	const char *path = settings->output_file;
	int fd = -1;
	struct vmop_error *opened = vmop_open_output(path, &fd);
	if (opened)
		return opened;
	_cleanup_fclose_ FILE *out = fdopen(fd, "w");
	if (!out) {
		close(fd);
		return &vmop_error_no_memory;
	}
	struct vmop_error *err = settings->output->print(sheet, &settings->output_options, out);
	if (err)
		return err;
	int failed = ferror(out);
	failed = fclose(vmop_steal(&out)) || failed;
	return failed ? vmop_error_os(errno, "writing %s", path) : NULL;
}

static struct vmop_error *print(struct settings *settings, const struct vmop_sheet *sheet)
{
	if (settings->output_file)
		return print_to_file(settings, sheet);
	if (!settings->has_width)
		settings->output_options.width_columns = terminal_width(STDOUT_FILENO);
	struct vmop_error *err = settings->output->print(sheet, &settings->output_options, stdout);
	/* A reader that closes the pipe, such as head(1), is no error. */
	if (!err && (fflush(stdout) || ferror(stdout)) && errno != EPIPE)
		err = vmop_error_os(errno, "writing the report");
	return err;
}

static void log_missing_symbols(const struct vmop_result *result)
{
	const struct vmop_missing *missing = &result->missing;
	if (!missing->samples)
		return;
	vmop_log_notice(
		"no symbols for %llu samples; most (%llu) in %s: %s",
		(unsigned long long)missing->samples, (unsigned long long)missing->top_samples,
		vmop_catalog_image(&result->catalog, missing->top_image)->name, missing->top_why);
}

/* Log a notice if the user asked for a column that is empty in all rows. */
static void log_empty_columns(const struct settings *settings, const struct vmop_result *result)
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

static struct vmop_error *report(struct settings *settings, struct vmop_result *result,
				 const struct vmop_ratios *ratios, const struct vmop_hidden *hidden)
{
	struct vmop_report *report = NULL;
	struct vmop_error *err =
		vmop_report_create(&settings->report, result, ratios, hidden, &report);
	if (!err)
		err = print(settings, vmop_report_sheet(report));
	if (!err && vmop_report_losses(report) && !settings->output->has_facts &&
	    (settings->output != &vmop_output_table || settings->output_options.no_header))
		vmop_log_warning("losses: %s", vmop_report_losses(report));
	if (!err && vmop_report_left_out(report) && !settings->output->has_facts &&
	    (settings->output != &vmop_output_table || settings->output_options.no_header))
		vmop_log_warning("too much for one report, left out: %s",
				 vmop_report_left_out(report));
	vmop_report_destroy(report);
	if (err)
		return err;
	log_empty_columns(settings, result);
	log_missing_symbols(result);
	return NULL;
}

/* Return about how many rows the format can print: names take some columns, each event three. */
static uint64_t max_lines(const struct settings *settings, const struct vmop_result *result)
{
	return settings->output->max_values / (8 + 3 * result->n_events * result->n_parts);
}

static struct vmop_error *report_session(struct settings *settings)
{
	struct vmop_sessions sessions = {0};
	struct vmop_result result = {0};
	struct vmop_ratios ratios = {0};
	struct vmop_hidden hidden = {0};
	struct vmop_error *err = check(settings);
	if (!err)
		err = vmop_sessions_open(&settings->spec, &sessions);
	if (!err)
		err = vmop_query_run(&settings->query, &settings->spec, sessions.items, sessions.n,
				     &result);
	vmop_sessions_deinit(&sessions);
	if (!err)
		err = vmop_ratios_init(&ratios, &settings->ratios, &result);
	settings->arrangement.max_lines = max_lines(settings, &result);
	if (!err)
		err = vmop_rows_arrange(&result, &ratios, &settings->arrangement, &hidden);
	if (!err)
		err = report(settings, &result, &ratios, &hidden);
	free(hidden.counts);
	vmop_ratios_deinit(&ratios);
	vmop_result_deinit(&result);
	return err;
}

static struct vmop_error *list_sessions(struct settings *settings)
{
	struct vmop_session_list *list = NULL;
	struct vmop_error *err = vmop_session_list_create(&settings->spec, &list);
	if (!err)
		err = print(settings, vmop_session_list_sheet(list));
	vmop_session_list_destroy(list);
	return err;
}

int main(int argc, char **argv)
{
	vmop_heap_prefer_huge_pages();
	setlocale(LC_CTYPE, "");
	vmop_log_init("vmopreport", VMOP_LOG_NOTICE);
	argp_err_exit_status = VMOP_EXIT_USAGE;
	struct settings settings = {.output = &vmop_output_table,
				    .query.resolver.demangle = VMOP_DEMANGLE_SMART};
	struct vmop_error *err = parse_arguments(&settings, argc, argv);
	if (!err) {
		decide(&settings);
		err = settings.list_sessions ? list_sessions(&settings) : report_session(&settings);
	}
	int status = vmop_error_exit_status(err);
	vmop_log_and_destroy(VMOP_LOG_ERROR, err);
	vmop_words_deinit(&settings.include);
	vmop_words_deinit(&settings.exclude);
	vmop_words_deinit(&settings.image_paths);
	vmop_words_deinit(&settings.ratios);
	vmop_words_deinit(&settings.sort);
	vmop_spec_deinit(&settings.spec);
	return status;
}
