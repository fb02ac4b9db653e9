// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmopcontrol sets up, starts, stops and queries vmopd. Its options are opcontrol's; its manual
 * page is vmopcontrol(8).
 */
#include "config.h"

#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/log.h"
#include "libutil/options.h"
#include "libutil/parse.h"
#include "opcontrol/actions.h"

const char *argp_program_version = "vmopcontrol (vmop) " PACKAGE_VERSION;

enum option_key {
	KEY_VMLINUX = 1 << 16,
	KEY_XEN,
	KEY_SESSION_DIR,
	KEY_ACTIVE_DOMAINS,
	KEY_ACTIVE_SAMPLES,
	KEY_FETCH_SIZE,
	KEY_PASSIVE_DOMAINS,
	KEY_PASSIVE_IMAGES,
	KEY_GUEST_CPU,
	KEY_OFF_CPU,
	KEY_OFF_CPU_STATES,
	KEY_GUEST_CONTEXT,
	KEY_WAITS,
	KEY_CODE,
	KEY_CALLGRAPH_DEPTH,
	KEY_LADDER,
	KEY_KEEP,
	KEY_MAX_SIZE,
	KEY_MAX_OVERHEAD,
	KEY_NICE,
	KEY_DURATION,
	KEY_JSON,
	KEY_STACKS,
	KEY_CONFIG,
	KEY_HELP,
	KEY_USAGE,
	KEY_VERSION,
};

enum option_group { GROUP_ACTION = 1, GROUP_SETUP, GROUP_OTHER };

#define CALLGRAPH "callgraph"
#define CALLGRAPH_DEPTH "callgraph-depth"
#define OFF_CPU "off-cpu"
#define OFF_CPU_DEFAULT "10Hz"

#define N_ACTION_OPTIONS (CONTROL_N_ACTIONS + 1) /* and their heading */

/* The options of the set-up have the names of the set-up file's keys. */
static const struct argp_option other_options[] = {
	{NULL, 0, NULL, 0, "Set-up, stored for the next start:", GROUP_SETUP},
	{"event", 'e', "NAME[:COUNT[:UMASK[:KERNEL[:USER]]]]", 0,
	 "Sample this event; separate several by commas, or repeat the option; {A,B} are "
	 "sampled together: vmop-events(7)",
	 GROUP_SETUP},
	{"separate", 'p', "WHAT", 0, "Separate samples by: none, lib, kernel, thread, cpu, all",
	 GROUP_SETUP},
	{"vmlinux", KEY_VMLINUX, "FILE", 0, "The host kernel's symbols (default: /proc/kallsyms)",
	 GROUP_SETUP},
	{"xen", KEY_XEN, "FILE", 0,
	 "Xen's symbols: xen-syms or its map (default: what dom0 offers)", GROUP_SETUP},
	{"session-dir", KEY_SESSION_DIR, "DIR", 0,
	 "The directory of session files (default: " VMOP_STATEDIR ")", GROUP_SETUP},
	{"active-domains", KEY_ACTIVE_DOMAINS, "LIST", 0,
	 "Guests that run vmopd --active: names, uuids, pids, ids, all or none (default)",
	 GROUP_SETUP},
	{"active-samples", KEY_ACTIVE_SAMPLES, "guest|host", 0,
	 "Who takes the samples of active guests of KVM: the guest (default), or the host, which "
	 "hands them over",
	 GROUP_SETUP},
	{"fetch-size", KEY_FETCH_SIZE, "SIZE", 0,
	 "Fetch the sessions of active guests of KVM, each of at most SIZE (default: 64M), or off",
	 GROUP_SETUP},
	{"passive-domains", KEY_PASSIVE_DOMAINS, "LIST", 0,
	 "Passive guests: names, uuids, pids or Xen's ids, all (default) or none", GROUP_SETUP},
	{"passive-images", KEY_PASSIVE_IMAGES, "LIST", 0,
	 "Kernel symbols of the passive guests: FILE[+0xOFFSET] each, paired by position",
	 GROUP_SETUP},
	{"guest-cpu", KEY_GUEST_CPU, "PERCENT", 0,
	 "CPU time for reading guests' memory, of one CPU (default: 1%; 0: none)", GROUP_SETUP},
	{"guest-context", KEY_GUEST_CONTEXT, "WHEN", OPTION_ARG_OPTIONAL,
	 "Capture what guests run at each sample: on, off, or auto (default: if guests are "
	 "passive); WHEN left out: on",
	 GROUP_SETUP},
	{"waits", KEY_WAITS, "on|off", OPTION_ARG_OPTIONAL,
	 "Divide the time of guests' vCPUs: running, halted, waiting and for whom, its own quota, "
	 "exits by reason; left out: on (default: off)",
	 GROUP_SETUP},
	{"code", KEY_CODE, "on|off|SIZE", 0,
	 "Store bytes of sampled code, for vmopannotate: generated, of guests, of the kernel: on "
	 "(default: at most 16M a session), off, or at most SIZE",
	 GROUP_SETUP},
	{OFF_CPU, KEY_OFF_CPU, "HZ", OPTION_ARG_OPTIONAL,
	 "Sample the blocked threads of passive guests, with their stacks, as event blocked: HZ "
	 "times a second (left out: " OFF_CPU_DEFAULT "), or off (default)",
	 GROUP_SETUP},
	{"off-cpu-states", KEY_OFF_CPU_STATES, "LIST", 0,
	 "The states of these threads: D, S (default: D,S), K (kernel threads that sleep), I, T, R",
	 GROUP_SETUP},
	{CALLGRAPH, 'c', "HOW", OPTION_ARG_OPTIONAL,
	 "Capture call stacks: off (default), kernel, fp (frame pointers), cfi[:SIZE], bpf "
	 "(unwound in the kernel), auto (cfi or bpf, by the rate), defer, or a depth as "
	 "opcontrol's; HOW left out: auto",
	 GROUP_SETUP},
	{CALLGRAPH_DEPTH, KEY_CALLGRAPH_DEPTH, "N", 0,
	 "Capture at most N frames of a call stack (default and most: 127)", GROUP_SETUP},
	{"ladder", KEY_LADDER, "STEPS", 0,
	 "How long intervals are up to which age (default: 1s:10m,1m:1d,10m:30d,1h), or off",
	 GROUP_SETUP},
	{"keep", KEY_KEEP, "TIME", 0,
	 "Delete what is older (30d), also sessions that were saved by their time, or off "
	 "(default)",
	 GROUP_SETUP},
	{"max-size", KEY_MAX_SIZE, "SIZE", 0,
	 "Room on disk (2G), or off (default): the oldest detail goes first, then the oldest "
	 "samples",
	 GROUP_SETUP},
	{"max-overhead", KEY_MAX_OVERHEAD, "PERCENT", 0,
	 "Lower the rate of samples while vmopd uses more of all CPUs' time (0.5%), or off "
	 "(default)",
	 GROUP_SETUP},
	{"nice", KEY_NICE, "N", 0,
	 "The nice value of the threads that read files of programs (default: 10)", GROUP_SETUP},
	{NULL, 0, NULL, 0, "Others:", GROUP_OTHER},
	{"duration", KEY_DURATION, "TIME", 0,
	 "With --start, --run: end the session after TIME (10s, 5m, 2h)", GROUP_OTHER},
	{"stacks", KEY_STACKS, NULL, 0,
	 "With --inspect: show the call stacks of the guest's waiting threads", GROUP_OTHER},
	{"json", KEY_JSON, NULL, 0,
	 "With --status, --list, --describe, --inspect, --list-events: for scripts", GROUP_OTHER},
	{"config", KEY_CONFIG, "FILE", 0,
	 "The set-up file (default: $VMOP_CONFIG or " VMOP_SETUP_FILE ")", GROUP_OTHER},
	{"verbose", 'V', NULL, 0, "Log more; twice: everything", GROUP_OTHER},
	{"help", '?', NULL, 0, "Show this", GROUP_OTHER},
	{"usage", KEY_USAGE, NULL, 0, "List the options", GROUP_OTHER},
	{"version", KEY_VERSION, NULL, 0, "Show the version", GROUP_OTHER},
	{0},
};

#define N_OTHER_OPTIONS (sizeof(other_options) / sizeof(other_options[0]))

_Static_assert(N_OTHER_OPTIONS <= CONTROL_MAX_CHANGED, "room for each option that changes a key");

static struct argp_option all_options[N_OTHER_OPTIONS + N_ACTION_OPTIONS];

/* Make argp's options: the table of actions, then the others. */
static void make_options(void)
{
	size_t n = 0;
	all_options[n++] = (struct argp_option){.doc = "Actions:", .group = GROUP_ACTION};
	for (const struct control_action *action = control_actions; action->name; action++)
		all_options[n++] = (struct argp_option){
			.name = action->name,
			.key = action->key,
			.arg = action->key == CONTROL_KEY_ROTATE ? "daily|SIZE|off" : action->arg,
			.doc = action->help,
			.flags = action->key == CONTROL_KEY_ROTATE ? OPTION_ARG_OPTIONAL : 0,
			.group = GROUP_ACTION};
	memcpy(all_options + n, other_options, sizeof(other_options));
}

/* The parser's state. Set-up options are applied when the file's name is known. */
struct arguments {
	struct control_request request;
	struct {
		const char *key, *value;
	} changes[VMOP_SETUP_MAX_LIST];
	size_t n_changes;
	char **rest; /* words that are not options */
	int n_rest;
};

/* Print one line; argp_error() would add another. */
static void bad_usage(struct vmop_error *err)
{
	vmop_log_and_destroy(VMOP_LOG_ERROR, err);
	exit(VMOP_EXIT_USAGE);
}

static void add_change(struct arguments *arguments, const char *key, const char *value)
{
	if (arguments->n_changes == VMOP_SETUP_MAX_LIST)
		bad_usage(vmop_error_new(VMOP_ERROR_USAGE, "more than %d set-up options",
					 VMOP_SETUP_MAX_LIST));
	arguments->changes[arguments->n_changes].key = key;
	arguments->changes[arguments->n_changes++].value = value;
}

static bool is_number(const char *text)
{
	return text && *text && text[strspn(text, "0123456789")] == '\0';
}

/*
 * Apply --callgraph. A number is opcontrol's depth, which may also be the next word: "-c 5"; 0
 * switches call stacks off.
 */
static void set_callgraph(struct arguments *arguments, const char *value, struct argp_state *state)
{
	if (!value && is_number(state->argv[state->next]))
		value = state->argv[state->next++];
	if (!is_number(value)) {
		add_change(arguments, CALLGRAPH, value ? value : "auto");
		return;
	}
	bool is_off = value[strspn(value, "0")] == '\0';
	add_change(arguments, CALLGRAPH, is_off ? "off" : "auto");
	if (!is_off)
		add_change(arguments, CALLGRAPH_DEPTH, value);
}

static void set_action(struct control_request *request, const struct control_action *action)
{
	if (request->action && request->action != action)
		bad_usage(vmop_error_new(VMOP_ERROR_USAGE, "--%s and --%s: one action at a time",
					 request->action->name, action->name));
	request->action = action;
}

/* Return the set-up key that an option changes, or NULL. */
static const char *setup_key(int key)
{
	for (size_t i = 0; i < N_OTHER_OPTIONS; i++) {
		if (other_options[i].group == GROUP_SETUP && other_options[i].key == key)
			return other_options[i].name;
	}
	return NULL;
}

/* Take an option of the set-up. Return false for any other option. */
static bool take_setup(struct arguments *arguments, int key, const char *arg,
		       struct argp_state *state)
{
	const char *changed = key == CONTROL_KEY_ROTATE ? "rotate" : setup_key(key);
	const char *left_out = key == KEY_OFF_CPU ? OFF_CPU_DEFAULT : "on";
	if (key == 'c')
		set_callgraph(arguments, arg, state);
	else if (changed)
		add_change(arguments, changed, arg ? arg : left_out);
	return changed;
}

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	struct control_request *request = &arguments->request;
	const struct control_action *action = control_action_find(key);
	if (action && action->name && !(key == CONTROL_KEY_ROTATE && arg)) {
		set_action(request, action);
		if (action->arg)
			request->name = arg;
		return 0;
	}
	if (take_setup(arguments, key, arg, state))
		return 0;
	switch (key) {
	case KEY_DURATION:
		if (!vmop_parse_duration_ns(arg, &request->duration_ns) || !request->duration_ns)
			bad_usage(vmop_error_new(
				VMOP_ERROR_USAGE,
				"--duration: '%s' is not a time such as 10s, 5m or 2h", arg));
		return 0;
	case KEY_STACKS:
		request->stacks = true;
		return 0;
	case KEY_JSON:
		request->json = true;
		return 0;
	case KEY_CONFIG:
		request->config = arg;
		request->config_given = true;
		return 0;
	case 'V':
		request->verbosity++;
		return 0;
	case '?':
		argp_state_help(state, state->out_stream, ARGP_HELP_STD_HELP);
		return 0;
	case KEY_USAGE:
		argp_state_help(state, state->out_stream, ARGP_HELP_USAGE | ARGP_HELP_EXIT_OK);
		return 0;
	case KEY_VERSION:
		puts(argp_program_version);
		exit(VMOP_EXIT_DONE);
	case ARGP_KEY_ARGS:
		arguments->rest = state->argv + state->next;
		arguments->n_rest = state->argc - state->next;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = all_options,
	.parser = parse_option,
	.args_doc = "[-- COMMAND [ARG...]]",
	.doc = "Sets up, starts, stops and queries vmopd, the profiler of this machine and its "
	       "guests.\v"
	       "Exit status: 0 done, 1 no such session or domain, 2 usage, 3 failure; with --run "
	       "that of COMMAND. "
	       "Example: vmopcontrol --start; sleep 10; vmopcontrol --stop; vmopreport -l",
};

/* ---- combinations of options ------------------------------------------------------------ */

static struct vmop_error *unknown_word(const char *word)
{
	return vmop_error_new(VMOP_ERROR_USAGE, "'%s' is not an option; see --help", word);
}

static struct vmop_error *check_rest(const struct arguments *arguments)
{
	const struct control_request *request = &arguments->request;
	bool takes_command = request->action->takes & CONTROL_TAKES_COMMAND;
	if (takes_command && !arguments->n_rest)
		return vmop_error_new(VMOP_ERROR_USAGE, "--run needs a command: --run -- COMMAND");
	if (!takes_command && arguments->n_rest)
		return unknown_word(arguments->rest[0]);
	return NULL;
}

static struct vmop_error *check_together(const struct arguments *arguments)
{
	const struct control_request *request = &arguments->request;
	const struct control_action *action = request->action;
	if (request->duration_ns && !(action->takes & CONTROL_TAKES_DURATION))
		return vmop_error_new(VMOP_ERROR_USAGE, "--duration goes with --start or --run");
	if (request->json && !(action->takes & CONTROL_TAKES_JSON))
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "--json goes with --status, --list, --describe, --inspect or "
				      "--list-events");
	if (request->stacks && !(action->takes & CONTROL_TAKES_STACKS))
		return vmop_error_new(VMOP_ERROR_USAGE, "--stacks goes with --inspect");
	for (size_t i = 0; i < arguments->n_changes; i++) {
		bool is_dir = !strcmp(arguments->changes[i].key, "session-dir");
		unsigned needed = CONTROL_TAKES_SETUP | (is_dir ? CONTROL_TAKES_DIR : 0);
		if (!(action->takes & needed))
			return vmop_error_new(VMOP_ERROR_USAGE,
					      "--%s goes with --setup, --start, --start-daemon or "
					      "--run%s, not with --%s",
					      arguments->changes[i].key,
					      is_dir ? ", and with actions on sessions" : "",
					      action->name);
	}
	return check_rest(arguments);
}

/* ---- set-up options ------------------------------------------------------------------ */

/* Make path absolute: the daemon has another working directory. The caller frees the result. */
static char *absolute(const char *path)
{
	char *whole = NULL;
	if (*path == '/' || !*path)
		return strdup(path);
	_cleanup_free_ char *cwd = getcwd(NULL, 0);
	return !cwd || asprintf(&whole, "%s/%s", cwd, path) < 0 ? NULL : whole;
}

static struct vmop_error *check_readable(const char *key, const char *path)
{
	if (!*path || access(path, R_OK) == 0)
		return NULL;
	return vmop_error_new(VMOP_ERROR_USAGE, "--%s: %s: %s", key, path, strerror(errno));
}

/* Make each path of a list of images absolute and check that it exists. The caller frees *ret. */
static struct vmop_error *absolute_images(const char *list, char **ret)
{
	size_t len;
	FILE *out = open_memstream(ret, &len);
	if (!out)
		return &vmop_error_no_memory;
	struct vmop_error *err = NULL;
	for (const char *at = list; !err; at++) {
		size_t item_len = strcspn(at, ",");
		_cleanup_free_ char *item = strndup(at, item_len);
		_cleanup_free_ char *whole = item ? absolute(item) : NULL;
		_cleanup_free_ char *path = NULL;
		uint64_t offset;
		err = whole ? vmop_setup_split_image(whole, &path, &offset) : &vmop_error_no_memory;
		if (!err && path)
			err = check_readable("passive-images", path);
		if (!err)
			fprintf(out, "%s%s", at == list ? "" : ",", whole);
		at += item_len;
		if (!*at)
			break;
	}
	if (fclose(out) != 0 && !err)
		err = &vmop_error_no_memory;
	return err;
}

static struct vmop_error *apply_change(struct vmop_setup *setup, const char *key, const char *value,
				       bool append)
{
	_cleanup_free_ char *whole = NULL;
	struct vmop_error *err = NULL;
	if (!strcmp(key, "passive-images"))
		err = absolute_images(value, &whole);
	else if (!strcmp(key, "vmlinux") || !strcmp(key, "xen") || !strcmp(key, "session-dir"))
		whole = absolute(value);
	else
		whole = strdup(value);
	if (!err && !whole)
		err = &vmop_error_no_memory;
	if (!err && (!strcmp(key, "vmlinux") || !strcmp(key, "xen")))
		err = check_readable(key, whole);
	return err ? err : vmop_setup_set(setup, key, whole, append);
}

static bool has_changed(const struct control_request *request, const char *key)
{
	for (size_t i = 0; i < request->n_changed; i++)
		if (!strcmp(request->changed[i], key))
			return true;
	return false;
}

static struct vmop_error *apply_changes(struct arguments *arguments)
{
	struct control_request *request = &arguments->request;
	for (size_t i = 0; i < arguments->n_changes; i++) {
		const char *key = arguments->changes[i].key;
		bool is_again = has_changed(request, key);
		/* Append to a list of an earlier option; replace a list of the file. */
		struct vmop_error *err =
			apply_change(&request->setup, key, arguments->changes[i].value, is_again);
		if (err)
			return err;
		if (!is_again)
			request->changed[request->n_changed++] = key;
	}
	return vmop_setup_check(&request->setup);
}

static struct vmop_error *read_setup(struct control_request *request, bool has_changes)
{
	bool found;
	const char *configured = secure_getenv("VMOP_CONFIG");
	if (!request->config)
		request->config = configured && *configured ? configured : VMOP_SETUP_FILE;
	struct vmop_error *err = vmop_setup_init(&request->setup);
	if (!err)
		err = vmop_setup_read(&request->setup, request->config, &found);
	/* The actions that store options make the file. */
	if (!err && !found && request->config_given && !has_changes &&
	    request->action != &control_actions[0] /* --setup prints the defaults */)
		err = vmop_error_new(VMOP_ERROR_USAGE,
				     "--config: there is no file %s; --setup with set-up options "
				     "makes one",
				     request->config);
	return err;
}

static struct vmop_error *run(struct arguments *arguments, int *ret_status)
{
	struct control_request *request = &arguments->request;
	if (!request->action && arguments->n_changes)
		request->action = &control_actions[0]; /* options without an action mean --setup */
	if (!request->action && arguments->n_rest)
		return unknown_word(arguments->rest[0]);
	if (!request->action)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "nothing to do: --start, --stop, --status, ...; see --help");
	request->command = arguments->rest;
	struct vmop_error *err = check_together(arguments);
	if (!err)
		err = read_setup(request, arguments->n_changes);
	if (!err)
		err = apply_changes(arguments);
	return err ? err : request->action->act(request, ret_status);
}

int main(int argc, char **argv)
{
	struct arguments arguments = {0};
	setlocale(LC_CTYPE, "");
	vmop_log_init("vmopcontrol", VMOP_LOG_NOTICE);
	argp_err_exit_status = VMOP_EXIT_USAGE;
	make_options();
	/* argp's -? would print no group headings; -h is opcontrol's --shutdown. */
	vmop_options_parse(&argp, argc, argv, ARGP_IN_ORDER | ARGP_NO_HELP, &arguments);
	vmop_log_set_level((enum vmop_log_level)(VMOP_LOG_NOTICE + arguments.request.verbosity));
	int status = VMOP_EXIT_DONE;
	struct vmop_error *err = run(&arguments, &status);
	if (err)
		status = vmop_error_exit_status(err);
	if (err && !*err->message)
		vmop_error_destroy(err); /* the daemon has printed it */
	else
		vmop_log_and_destroy(VMOP_LOG_ERROR, err);
	vmop_setup_deinit(&arguments.request.setup);
	return status;
}
