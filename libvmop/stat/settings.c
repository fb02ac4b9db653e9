// SPDX-License-Identifier: GPL-2.0-or-later
#include "config.h"

#include "libvmop/stat/settings.h"

#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/options.h"
#include "libutil/parse.h"

const char *argp_program_version = "vmopstat " PACKAGE_VERSION;

#define DEFAULT_EVENTS                                                                             \
	"context-switches,cpu-migrations,page-faults,cycles,instructions,branches,branch-misses"

static const char doc[] =
	"Count events of a command with its threads and children, of a process, or of all CPUs."
	"\vThe events are those of vmop-events(7) without a COUNT. The exit status is the "
	"command's.";

enum {
	KEY_JSON = 0x100,
	KEY_LOG_FD,
	KEY_GUEST,
	KEY_GUEST_RUN,
	KEY_COMPARE,
	KEY_NET,
	KEY_HYPERVISOR,
	KEY_DOMAIN,
	KEY_TIME,
	KEY_IO,
};

static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "What to count:", 1},
	{"event", 'e', "EVENT[,EVENT...]", 0,
	 "Count these events; {A,B} are counted at the same times; may be repeated", 1},
	{"time", KEY_TIME, NULL, 0,
	 "Print real and CPU time, also without the time that the hypervisor stole, and those "
	 "of each thread; other events only with -e",
	 1},
	{"pid", 'p', "PID", 0, "Count this process, until it or COMMAND ends", 1},
	{"domain", KEY_DOMAIN, "NAME", 0,
	 "Count the vCPUs of a guest from the host, until it or COMMAND ends", 1},
	{"all-cpus", 'a', NULL, 0, "Count everything on all CPUs, until COMMAND ends", 1},
	{"net", KEY_NET, "WORD[,WORD...]", OPTION_ARG_OPTIONAL,
	 "Count the traffic of network interfaces, InfiniBand and RoCE, with the guests' taps; "
	 "all shows those without traffic too, other words only interfaces of these names; needs "
	 "COMMAND or --all-cpus",
	 1},
	{"hypervisor", KEY_HYPERVISOR, NULL, 0,
	 "Describe the hypervisor of this machine; with COMMAND or -I, count the times that it "
	 "reports",
	 1},
	{"io", KEY_IO, "WORD[,WORD...]", OPTION_ARG_OPTIONAL,
	 "Count the I/O of COMMAND or the process: time for the time of its calls, bpf or preload "
	 "for one way of counting",
	 1},
	{"repeat", 'r', "N", 0, "Run COMMAND N times: print means with their 99 % intervals", 1},
	{NULL, 0, NULL, 0, "In a guest, where vmopstat is installed:", 2},
	{"guest", KEY_GUEST, "NAME", 0, "Run and count COMMAND in the guest of this name", 2},
	{"guest-run", KEY_GUEST_RUN, "PROGRAM", 0,
	 "Run it by PROGRAM, which gets a command line as one more argument: \"ssh web1\"", 2},
	{"compare", KEY_COMPARE, NULL, 0,
	 "Run COMMAND on the host too: print both, and the guest's deviation", 2},
	{NULL, 0, NULL, 0, "Output:", 3},
	{"interval-print", 'I', "MS", 0, "Print the counts of every MS milliseconds, from 10 on",
	 3},
	{"field-separator", 'x', "SEPARATOR", 0, "Print fields with SEPARATOR between them", 3},
	{"json", KEY_JSON, NULL, 0, "Print one JSON object a line for each event", 3},
	{"output", 'o', "FILE", 0, "Write to FILE, not to stderr", 3},
	{"log-fd", KEY_LOG_FD, "FD", 0, "Write to this open file descriptor, not to stderr", 3},
	{0}};

struct parser {
	struct vmop_stat_settings *settings;
	struct vmop_error *err;
};

static struct vmop_error *parse_number(const char *option, const char *text, uint64_t low,
				       uint64_t high, uint64_t *ret)
{
	if (vmop_parse_u64(text, 10, ret) && *ret >= low && *ret <= high)
		return NULL;
	return vmop_error_new(VMOP_ERROR_USAGE, "%s takes a number from %llu to %llu, not '%s'",
			      option, (unsigned long long)low, (unsigned long long)high, text);
}

static struct vmop_error *add_events(struct vmop_stat_settings *settings, const char *text)
{
	char *events;
	if (asprintf(&events, "%s%s%s", settings->events ? settings->events : "",
		     settings->events ? "," : "", text) < 0)
		return &vmop_error_no_memory;
	free(settings->events);
	settings->events = events;
	return NULL;
}

/* Take an option that is a flag or a text as it is. Return false for any other option. */
static bool take_plain(struct vmop_stat_settings *settings, int key, char *arg)
{
	switch (key) {
	case KEY_DOMAIN:
		settings->domain = arg;
		return true;
	case 'a':
		settings->is_all = true;
		return true;
	case 'x':
		settings->separator = arg;
		return true;
	case KEY_TIME:
		settings->is_time = true;
		return true;
	case KEY_NET:
		settings->is_net = true;
		settings->net_words = arg;
		return true;
	case KEY_HYPERVISOR:
		settings->is_hypervisor = true;
		return true;
	case KEY_JSON:
		settings->is_json = true;
		return true;
	case 'o':
		settings->output = arg;
		return true;
	case KEY_GUEST:
		settings->guest = arg;
		return true;
	case KEY_GUEST_RUN:
		settings->transport = arg;
		return true;
	case KEY_COMPARE:
		settings->is_compared = true;
		return true;
	default:
		return false;
	}
}

static error_t take_option(int key, char *arg, struct argp_state *state)
{
	struct parser *parser = state->input;
	struct vmop_stat_settings *settings = parser->settings;
	uint64_t pid, fd;
	if (take_plain(settings, key, arg))
		return 0;
	switch (key) {
	case 'e':
		parser->err = add_events(settings, arg);
		break;
	case 'p':
		parser->err = parse_number("--pid", arg, 1, INT32_MAX, &pid);
		settings->pid = parser->err ? 0 : (pid_t)pid;
		break;
	case 'r':
		parser->err = parse_number("--repeat", arg, 1, 1000000, &settings->n_runs);
		break;
	case 'I':
		parser->err =
			parse_number("--interval-print", arg, 10, 86400000, &settings->interval_ms);
		break;
	case KEY_IO:
		parser->err = vmop_stat_io_settings_parse(arg, &settings->io);
		break;
	case KEY_LOG_FD:
		parser->err = parse_number("--log-fd", arg, 1, INT32_MAX, &fd);
		settings->log_fd = parser->err ? -1 : (int)fd;
		break;
	case ARGP_KEY_ARGS:
		settings->command = state->argv + state->next;
		break;
	default:
		return ARGP_ERR_UNKNOWN;
	}
	return parser->err ? EINVAL : 0;
}

/* Return the mistake in the options of guests, or NULL. */
static const char *check_guest(const struct vmop_stat_settings *settings)
{
	if (!settings->guest && (settings->transport || settings->is_compared))
		return "--guest-run and --compare need --guest";
	if (!settings->guest)
		return NULL;
	if (!*settings->guest || !settings->transport || !*settings->transport)
		return "--guest needs a name, and --guest-run, which reaches it: --guest-run='ssh "
		       "web1'";
	if (settings->is_time)
		return "--guest excludes --time: run vmopstat in the guest";
	if (!settings->command || settings->pid || settings->domain || settings->is_all ||
	    settings->interval_ms)
		return "--guest needs a COMMAND, and excludes --pid, --domain, --all-cpus and "
		       "--interval-print";
	return NULL;
}

/* Return an error text about --net or --hypervisor, or NULL. */
static const char *check_counts_of_others(const struct vmop_stat_settings *settings)
{
	if (settings->is_net && settings->is_hypervisor)
		return "--net and --hypervisor exclude each other";
	if (settings->events || settings->pid || settings->domain || settings->n_runs > 1 ||
	    settings->guest || settings->is_time || settings->io.is_wanted)
		return "--net and --hypervisor exclude --event, --io, --pid, --domain, --repeat, "
		       "--guest and --time";
	if (settings->net_words && !*settings->net_words)
		return "--net= takes all, or names of interfaces";
	if (settings->is_net && !settings->command && !settings->is_all)
		return "--net needs a COMMAND or --all-cpus";
	if (settings->is_hypervisor && settings->separator && !settings->command &&
	    !settings->interval_ms)
		return "--hypervisor has no fields without a COMMAND or --interval-print";
	return NULL;
}

static struct vmop_error *check(const struct vmop_stat_settings *settings)
{
	const char *why = NULL;
	int n_targets = (settings->pid != 0) + settings->is_all + (settings->domain != NULL);
	if (settings->is_net || settings->is_hypervisor)
		why = check_counts_of_others(settings);
	else if (!settings->command && n_targets == 0)
		why = "give a COMMAND, --pid, --domain or --all-cpus";
	else if (n_targets > 1)
		why = "--pid, --domain and --all-cpus exclude one another";
	else if (settings->is_time && settings->domain)
		why = "--time and --domain exclude each other: 'vmopcontrol --waits' records "
		      "vCPUs' times, 'vmopreport --waits=tasks' has those of the guest's tasks";
	else if (settings->io.is_wanted &&
		 (settings->is_all || settings->guest || settings->domain))
		why = "--io needs a COMMAND on this machine, or --pid";
	else if (settings->n_runs > 1 && (!settings->command || settings->interval_ms))
		why = "--repeat needs a COMMAND, and excludes --interval-print";
	if (why)
		return vmop_error_new(VMOP_ERROR_USAGE, "%s", why);
	if (settings->separator && settings->is_json)
		why = "--field-separator and --json exclude each other";
	else if (settings->separator && !*settings->separator)
		why = "--field-separator takes at least one character";
	else if (settings->output && settings->log_fd >= 0)
		why = "--output and --log-fd exclude each other";
	else
		why = check_guest(settings);
	return why ? vmop_error_new(VMOP_ERROR_USAGE, "%s", why) : NULL;
}

struct vmop_error *vmop_stat_settings_parse(int argc, char **argv, struct vmop_stat_settings *ret)
{
	static const struct argp argp = {
		options, take_option, "[--] [COMMAND [ARGUMENT...]]", doc, NULL, NULL, NULL};
	*ret = (struct vmop_stat_settings){.n_runs = 1, .log_fd = -1};
	struct parser parser = {.settings = ret};
	/* The options behind COMMAND are its own. */
	error_t failed = vmop_options_parse(&argp, argc, argv, ARGP_IN_ORDER, &parser);
	struct vmop_error *err = parser.err;
	if (!err && failed)
		err = vmop_error_new(VMOP_ERROR_USAGE, "the command line: %s", strerror(failed));
	if (!err)
		err = check(ret);
	if (!err && !ret->events && !ret->is_time)
		err = add_events(ret, ret->io.is_wanted ? "task-clock"
				      : ret->is_all	? "cpu-clock," DEFAULT_EVENTS
							: "task-clock," DEFAULT_EVENTS);
	return err;
}

void vmop_stat_settings_deinit(struct vmop_stat_settings *settings)
{
	free(settings->events);
	*settings = (struct vmop_stat_settings){0};
}
