// SPDX-License-Identifier: GPL-2.0-or-later
/* vmoptop: a live view of a running session.  See vmoptop(1). */
#include "config.h"

#include <argp.h>
#include <errno.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/heap.h"
#include "libutil/log.h"
#include "opreport/options/command-line.h"
#include "opreport/options/option-word.h"
#include "opreport/output/output.h"
#include "opreport/output/printing.h"
#include "opreport/top/top-screen.h"
#include "opreport/top/top-snapshot.h"
#include "opreport/top/top-view.h"

const char *argp_program_version = "vmoptop " PACKAGE_VERSION;

/* A refresh may take one part in so many of the time: 1 % of a CPU. */
#define COST_PART 100

#define DEFAULT_DELAY_S 2

static const char doc[] =
	"Show what the machine and its guests run, live, from the session that vmopd records."
	"\vSpecs choose the samples, as in vmopreport(1). Press h for the keys.";

enum { KEY_BY = 0x100 };

static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "View:", 1},
	{"by", KEY_BY, "WORD", 0,
	 "Begin with rows by domain (the default), task, image, symbol or certainty", 1},
	{"delay", 'd', "SECONDS", 0, "Refresh so often (default: 2); at most 1 % of a CPU is used",
	 1},
	{"batch", 'b', NULL, 0, "Print to stdout in place of the terminal's screen", 1},
	{"iterations", 'n', "N", 0, "With --batch: end after N tables (default: never)", 1},
	{"rows", 'r', "N", 0, "With --batch: only the first N rows (default: 25)", 1},
	{0}};

static const struct vmop_option_word kinds[] = {
	{"domain", VMOP_TOP_DOMAINS}, {"task", VMOP_TOP_TASKS},		 {"image", VMOP_TOP_IMAGES},
	{"symbol", VMOP_TOP_SYMBOLS}, {"certainty", VMOP_TOP_CERTAINTY}, {0}};

struct settings {
	struct vmop_spec spec;
	struct vmop_symbol_options symbols;
	unsigned kind; /* enum vmop_top_kind */
	uint64_t delay_ns, n_iterations, n_rows;
	bool is_batch;
	struct vmop_error *err;
};

static struct vmop_error *parse_delay(const char *text, uint64_t *ret_ns)
{
	char *end;
	double seconds = strtod(text, &end);
	if (end == text || *end || !(seconds >= 0.1 && seconds <= 3600))
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "--delay takes seconds from 0.1 to 3600, not '%s'", text);
	*ret_ns = (uint64_t)(seconds * 1e9);
	return NULL;
}

static error_t take_option(int key, char *arg, struct argp_state *state)
{
	struct settings *settings = state->input;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &settings->symbols;
		state->child_inputs[1] = &settings->spec;
		return 0;
	case KEY_BY:
		settings->err = vmop_option_word_parse(kinds, "--by", arg, &settings->kind);
		break;
	case 'd':
		settings->err = parse_delay(arg, &settings->delay_ns);
		break;
	case 'b':
		settings->is_batch = true;
		break;
	case 'n':
		settings->err = vmop_option_number_parse("--iterations", arg, UINT32_MAX,
							 &settings->n_iterations);
		break;
	case 'r':
		settings->err =
			vmop_option_number_parse("--rows", arg, UINT32_MAX, &settings->n_rows);
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return settings->err ? EINVAL : 0;
}

static struct vmop_error *settings_init(struct settings *ret, int argc, char **argv)
{
	static const struct argp_child children[] = {
		{&vmop_symbol_options_argp, 0, "Sources of symbols:", 4},
		{&vmop_spec_argp, 0, "", 10},
		{0}};
	static const struct argp argp = {options,  take_option, "[SPEC...]", doc,
					 children, NULL,	NULL};
	*ret = (struct settings){.delay_ns = DEFAULT_DELAY_S * VMOP_NS_PER_S,
				 .n_rows = 25,
				 .symbols.demangle = VMOP_DEMANGLE_SMART};
	vmop_symbol_options_find_cache(&ret->symbols);
	struct vmop_error **const errors[] = {&ret->err, &ret->symbols.err, &ret->spec.err, NULL};
	return vmop_command_line_parse(&argp, argc, argv, ret, errors);
}

static void settings_deinit(struct settings *settings)
{
	vmop_symbol_options_deinit(&settings->symbols);
	vmop_spec_deinit(&settings->spec);
}

/* ---- snapshots ----------------------------------------------------------------- */

/* The program's state: a view of the last snapshot. */
struct top {
	const struct settings *settings;
	struct vmop_top_view view;
	struct vmop_top_snapshot snapshot;
	struct vmop_error *passing; /* the reason why there are no rows; NULL: there are */
	uint64_t next_ns;	    /* when to refresh, CLOCK_MONOTONIC */
	double cost_percent;
};

/* Return whether the loop goes on after an error: a session can come, and a span can fill. */
static bool is_passing(const struct vmop_error *err)
{
	return err->code == VMOP_ERROR_NOT_FOUND || err->code == VMOP_ERROR_CANT;
}

/*
 * Take a snapshot.  An error that can pass is kept.  The next one follows after the
 * delay, or later: refreshing takes at most 1 % of a CPU.
 */
static struct vmop_error *refresh(struct top *top)
{
	const struct settings *settings = top->settings;
	vmop_top_snapshot_deinit(&top->snapshot);
	vmop_error_destroy(vmop_steal(&top->passing));
	struct vmop_error *err = vmop_top_snapshot_init(&top->snapshot, &top->view, &settings->spec,
							&settings->symbols);
	uint64_t wait_ns = top->snapshot.cpu_ns * COST_PART;
	if (wait_ns < top->view.delay_ns)
		wait_ns = top->view.delay_ns;
	top->cost_percent = 100.0 * (double)top->snapshot.cpu_ns / (double)wait_ns;
	top->next_ns = vmop_clock_ns(CLOCK_MONOTONIC) + wait_ns;
	if (!err) {
		top->view.n_events = top->snapshot.result.n_events;
		return NULL;
	}
	if (!is_passing(err))
		return err;
	top->passing = err;
	return NULL;
}

static void enter_row(struct top *top, size_t row)
{
	_cleanup_free_ char *word = NULL;
	const char *name;
	struct vmop_error *err =
		vmop_top_snapshot_word(&top->snapshot, top->view.kind, row, &word, &name);
	if (!err)
		vmop_top_view_enter(&top->view, word, name);
	vmop_error_destroy(err);
}

/* ---- modes --------------------------------------------------------------------- */

static volatile sig_atomic_t is_ended;

static void end(int signal_number)
{
	(void)signal_number;
	is_ended = 1;
}

static void catch_signals(void)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP};
	const struct sigaction action = {.sa_handler = end};
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &action, NULL);
}

/* Wait for a key until the next refresh.  Return it; 0: none; -1: end. */
static int wait_key(const struct top *top)
{
	uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	uint64_t left_ns = top->next_ns > now_ns ? top->next_ns - now_ns : 0;
	if (top->view.is_frozen)
		left_ns = 60 * VMOP_NS_PER_S;
	int key = vmop_top_screen_key((int)(left_ns / VMOP_NS_PER_MS) + 1);
	return is_ended ? -1 : key;
}

static struct vmop_error *run_screen(struct top *top)
{
	struct vmop_error *err = vmop_top_screen_begin();
	bool is_due = true;
	while (!err && !is_ended) {
		if (is_due)
			err = refresh(top);
		size_t n_rows = 0, page_rows = 0, row = 0;
		const struct vmop_top_picture picture = {
			.view = &top->view,
			.sheet = vmop_top_snapshot_sheet(&top->snapshot),
			.message = top->passing ? top->passing->message : NULL,
			.cost_percent = top->cost_percent,
		};
		if (!err)
			err = vmop_top_screen_draw(&picture, &n_rows, &page_rows, &row);
		if (err)
			break;
		vmop_top_view_clamp(&top->view, n_rows);
		int key = wait_key(top);
		if (key < 0)
			break;
		enum vmop_top_effect effect =
			key ? vmop_top_view_key(&top->view, key, n_rows, page_rows)
			    : VMOP_TOP_NOTHING;
		if (effect == VMOP_TOP_QUIT)
			break;
		if (effect == VMOP_TOP_ENTER && n_rows)
			enter_row(top, row);
		is_due = effect == VMOP_TOP_REFRESH || effect == VMOP_TOP_ENTER ||
			 (!top->view.is_frozen && vmop_clock_ns(CLOCK_MONOTONIC) >= top->next_ns);
	}
	vmop_top_screen_end();
	return err;
}

/* A sheet with the first rows only. */
static struct vmop_error *print_sheet(const void *arg, FILE *out)
{
	const struct top *top = arg;
	struct vmop_sheet sheet = *vmop_top_snapshot_sheet(&top->snapshot);
	const struct vmop_output_options output = {.width_columns =
							   vmop_terminal_columns(STDOUT_FILENO)};
	if (sheet.n_rows > top->settings->n_rows)
		sheet.n_rows = top->settings->n_rows;
	return vmop_output_table.print(&sheet, &output, out);
}

/* Sleep until the next refresh, or until a signal. */
static void sleep_until(uint64_t time_ns)
{
	const struct timespec at = {.tv_sec = (time_t)(time_ns / VMOP_NS_PER_S),
				    .tv_nsec = (long)(time_ns % VMOP_NS_PER_S)};
	while (!is_ended && clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
		;
}

/* Print a table, or the reason for its absence. */
static struct vmop_error *print_snapshot(const struct top *top)
{
	if (vmop_top_snapshot_sheet(&top->snapshot))
		return vmop_print_to(NULL, print_sheet, top);
	vmop_log_notice("%s", top->passing->message);
	return NULL;
}

/* Print tables.  If the last one cannot be made, its reason is the error. */
static struct vmop_error *run_batch(struct top *top)
{
	uint64_t n = top->settings->n_iterations;
	struct vmop_error *err = NULL;
	for (uint64_t i = 1; !err && !is_ended; i++) {
		err = refresh(top);
		if (!err && i == n && top->passing)
			return vmop_steal(&top->passing);
		if (!err)
			err = print_snapshot(top);
		if (err || i == n || ferror(stdout))
			break;
		sleep_until(top->next_ns);
		if (!is_ended)
			putchar('\n');
	}
	return err;
}

int main(int argc, char **argv)
{
	vmop_heap_prefer_huge_pages();
	setlocale(LC_CTYPE, "");
	vmop_log_init("vmoptop", VMOP_LOG_NOTICE);
	argp_err_exit_status = VMOP_EXIT_USAGE;
	struct settings settings;
	struct top top = {.settings = &settings};
	struct vmop_error *err = settings_init(&settings, argc, argv);
	vmop_top_view_init(&top.view, settings.delay_ns);
	top.view.kind = settings.kind;
	catch_signals();
	if (!err)
		err = settings.is_batch ? run_batch(&top) : run_screen(&top);
	int status = vmop_error_exit_status(err);
	vmop_log_and_destroy(VMOP_LOG_ERROR, err);
	vmop_error_destroy(top.passing);
	vmop_top_snapshot_deinit(&top.snapshot);
	vmop_top_view_deinit(&top.view);
	settings_deinit(&settings);
	return status;
}
