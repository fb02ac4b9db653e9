// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmopd: samples the machine and its guests into session files, as vmopcontrol(8) commands.
 * session.h describes the files of this folder, vmopd(8) the program.
 */
#include "config.h"

#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <locale.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <systemd/sd-daemon.h>
#include <unistd.h>

#include "daemon/agent.h"
#include "daemon/detach.h"
#include "daemon/inspect-image.h"
#include "daemon/list-events.h"
#include "daemon/privileges.h"
#include "daemon/requests.h"
#include "hv-interface/source-list.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/dirs/run-dir.h"
#include "libutil/heap.h"
#include "libutil/log.h"
#include "libutil/options.h"
#include "libutil/parse.h"

const char *argp_program_version = "vmopd (vmop) " PACKAGE_VERSION;

enum option_key {
	KEY_SESSION_DIR = 256,
	KEY_CONFIG,
	KEY_SOURCE,
	KEY_REPLAY,
	KEY_CHECK_SETUP,
	KEY_LIST_EVENTS,
	KEY_INSPECT_IMAGE,
	KEY_INSPECT_GUEST,
	KEY_STACKS,
	KEY_JSON,
	KEY_START,
	KEY_DURATION,
	KEY_ACTIVE,
	KEY_BY_VMOPCONTROL,
};

static const struct argp_option options[] = {
	{"start", KEY_START, NULL, 0, "Begin a session at once, with the set-up file's values", 1},
	{"duration", KEY_DURATION, "TIME", 0, "With --start: end after TIME (10s, 5m, 2h)", 1},
	{"active", KEY_ACTIVE, NULL, 0,
	 "In a guest of KVM, or a PV domain of Xen: sample it as the vmopd of the host commands",
	 1},
	{"foreground", 'f', NULL, 0, "Stay in the foreground and log to stderr", 1},
	{"config", KEY_CONFIG, "FILE", 0,
	 "The set-up file (default: $VMOP_CONFIG or " VMOP_SETUP_FILE ")", 2},
	{"session-dir", KEY_SESSION_DIR, "DIR", 0, "Where session files go, over the set-up file's",
	 2},
	{"check-setup", KEY_CHECK_SETUP, NULL, 0, "Check the set-up file, and exit", 2},
	{"list-events", KEY_LIST_EVENTS, NULL, 0, "List the events of this machine, and exit", 2},
	{"inspect-image", KEY_INSPECT_IMAGE, "FILE", 0,
	 "Print the findings about a saved image of a guest's memory as JSON, and exit", 2},
	{"inspect-guest", KEY_INSPECT_GUEST, "PID|xen:ID", 0,
	 "Print the findings about a running guest as JSON, and exit: the pid of its VMM, or the "
	 "number of a Xen domain",
	 2},
	{"stacks", KEY_STACKS, NULL, 0,
	 "With --inspect-image, --inspect-guest: add the call stacks of waiting threads", 2},
	{"json", KEY_JSON, NULL, 0, "With --list-events: for scripts", 2},
	{"source", KEY_SOURCE, "NAME", 0,
	 "Where samples come from: perf, xen (the default in its dom0) or replay", 3},
	{"replay", KEY_REPLAY, "FILE", 0,
	 "Replay a recorded stream as fast as it goes into a session, and exit", 3},
	{"verbose", 'V', NULL, 0, "Log more; twice: everything", 4},
	/* Exit with VMOP_EXIT_RUNS_ALREADY and no message if another vmopd runs already. */
	{"by-vmopcontrol", KEY_BY_VMOPCONTROL, NULL, OPTION_HIDDEN, NULL, 4},
	{0},
};

struct arguments {
	const char *config, *session_dir, *source, *replay_path, *inspect_image, *inspect_guest;
	uint64_t duration_ns;
	const char *bad_duration; /* a text that is no duration */
	bool start, active, foreground, check_setup, list_events, json, stacks, by_vmopcontrol;
	enum vmop_log_level level;
};

static error_t parse_option(int key, char *arg, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	switch (key) {
	case KEY_START:
		arguments->start = true;
		return 0;
	case KEY_DURATION:
		if (!vmop_parse_duration_ns(arg, &arguments->duration_ns) ||
		    !arguments->duration_ns)
			arguments->bad_duration = arg;
		return 0;
	case KEY_ACTIVE:
		arguments->active = true;
		return 0;
	case 'f':
		arguments->foreground = true;
		return 0;
	case KEY_CONFIG:
		arguments->config = arg;
		return 0;
	case KEY_SESSION_DIR:
		arguments->session_dir = arg;
		return 0;
	case KEY_CHECK_SETUP:
		arguments->check_setup = true;
		return 0;
	case KEY_LIST_EVENTS:
		arguments->list_events = true;
		return 0;
	case KEY_INSPECT_IMAGE:
		arguments->inspect_image = arg;
		return 0;
	case KEY_INSPECT_GUEST:
		arguments->inspect_guest = arg;
		return 0;
	case KEY_STACKS:
		arguments->stacks = true;
		return 0;
	case KEY_JSON:
		arguments->json = true;
		return 0;
	case KEY_SOURCE:
		arguments->source = arg;
		return 0;
	case KEY_REPLAY:
		arguments->replay_path = arg;
		return 0;
	case KEY_BY_VMOPCONTROL:
		arguments->by_vmopcontrol = true;
		return 0;
	case 'V':
		if (arguments->level < VMOP_LOG_DEBUG)
			arguments->level++;
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {
	.options = options,
	.parser = parse_option,
	.doc = "Samples the code that runs on this machine and in its guests, into session files.\v"
	       "Without --start it waits for requests of vmopcontrol(8), which also starts it. "
	       "Exit status: 0 done, 1 no kernel in an image, 2 usage, 3 failure.",
};

/* ---- set-up ------------------------------------------------------------------- */

static struct vmop_error *read_setup(const struct arguments *arguments, struct vmop_setup *setup)
{
	const char *path = arguments->config ? arguments->config : secure_getenv("VMOP_CONFIG");
	bool found;
	struct vmop_error *err = vmop_setup_init(setup);
	if (!err)
		err = vmop_setup_read(setup, path ? path : VMOP_SETUP_FILE, &found);
	if (!err && !found && arguments->config)
		err = vmop_error_new(VMOP_ERROR_USAGE, "--config: there is no file %s", path);
	if (!err && arguments->session_dir) {
		char absolute[PATH_MAX];
		char cwd[PATH_MAX / 2];
		const char *dir = arguments->session_dir;
		if (*dir != '/' && getcwd(cwd, sizeof(cwd)) &&
		    (size_t)snprintf(absolute, sizeof(absolute), "%s/%s", cwd, dir) <
			    sizeof(absolute))
			dir = absolute;
		err = vmop_setup_set(setup, "session-dir", dir, false);
	}
	return err ? err : vmop_setup_check(setup);
}

/* Check the syntax of each event. Opens nothing. */
static struct vmop_error *check_events(const struct vmop_setup *setup)
{
	for (size_t i = 0; i < setup->events.n; i++) {
		struct vmop_event_request request;
		struct vmop_error *err = vmop_event_request_parse(setup->events.items[i], &request);
		if (err)
			return err;
		vmop_event_request_deinit(&request);
	}
	return NULL;
}

/* The wait for another vmopd, or a vmopcontrol --save, to end. */
static const uint64_t lock_wait_ns = 30 * VMOP_NS_PER_S;

/* ---- running -------------------------------------------------------------------- */

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *info, void *arg)
{
	struct vmop_daemon *daemon = arg;
	(void)source;
	vmop_log_info("signal %" PRIu32 ": ending", info->ssi_signo);
	sd_event_exit(daemon->loop, 0);
	return 0;
}

/* Make the loop, in the process that runs it: a loop does not survive a fork. */
static struct vmop_error *make_loop(struct vmop_daemon *daemon)
{
	int status = sd_event_new(&daemon->loop);
	return status < 0 ? vmop_error_os(-status, "event loop") : NULL;
}

static struct vmop_error *add_signals(struct vmop_daemon *daemon, bool foreground)
{
	static const int ending[] = {SIGTERM, SIGINT, SIGHUP};
	sigset_t set;
	sigemptyset(&set);
	signal(SIGPIPE, SIG_IGN);
	signal(SIGXFSZ, SIG_IGN); /* the write returns an error */
	/* In the background there is no terminal: ignore SIGHUP. */
	if (!foreground)
		signal(SIGHUP, SIG_IGN);
	size_t n = foreground ? 3 : 2;
	for (size_t i = 0; i < n; i++)
		sigaddset(&set, ending[i]);
	sigprocmask(SIG_BLOCK, &set, NULL);
	for (size_t i = 0; i < n; i++) {
		int status = sd_event_add_signal(daemon->loop, NULL, ending[i], on_signal, daemon);
		if (status < 0)
			return vmop_error_os(-status, "signal %d", ending[i]);
	}
	return NULL;
}

/* Each CPU and event needs a descriptor, and so does each file that is read. */
static void raise_descriptor_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0)
		return;
	limit.rlim_cur = limit.rlim_max < 65536 ? limit.rlim_max : 65536;
	setrlimit(RLIMIT_NOFILE, &limit);
}

static struct vmop_error *advise_root(struct vmop_error *err)
{
	if (!err || err->code != VMOP_ERROR_CANT || !err->os_errno || geteuid() == 0)
		return err;
	struct vmop_error *better =
		vmop_error_new(VMOP_ERROR_CANT, "%s; run it as root", err->message);
	vmop_error_destroy(err);
	return better;
}

/* Set *ret if a daemon listens. vmopcontrol --save and ending daemons hold the lock, too. */
static struct vmop_error *is_listened(bool *ret)
{
	_cleanup_close_ int fd = -1;
	struct vmop_error *err = vmop_run_connect(&fd);
	*ret = fd >= 0;
	return err;
}

/*
 * Take the daemon's lock, which this process keeps until it has ended. A holder that does not
 * listen is starting or ending: wait for it.
 */
static struct vmop_error *take_lock(int *ret_lock)
{
	uint64_t end_ns = vmop_clock_ns(CLOCK_MONOTONIC) + lock_wait_ns;
	bool runs = false;
	pid_t holder = 0;
	struct vmop_error *err;
	do {
		err = vmop_run_lock(VMOP_RUN_PID, 20, ret_lock, &holder);
		if (err || *ret_lock >= 0)
			return err;
		err = is_listened(&runs);
	} while (!err && !runs && vmop_clock_ns(CLOCK_MONOTONIC) < end_ns);
	return err ? err
		   : vmop_error_new(VMOP_ERROR_BUSY, "vmopd runs already, pid %d", (int)holder);
}

static struct vmop_error *take_run_dir(struct vmop_dir *ret_dir, int *ret_lock)
{
	struct vmop_error *err = vmop_run_dir_make(ret_dir);
	if (!err)
		err = take_lock(ret_lock);
	return advise_root(err);
}

static struct vmop_error *open_control(struct vmop_daemon *daemon, int run_dir_fd)
{
	struct vmop_error *err = vmop_control_create(daemon->loop, run_dir_fd, VMOP_RUN_SOCKET,
						     vmop_daemon_handle, daemon, &daemon->control);
	return err ? err : vmop_daemon_apply_group(daemon);
}

static struct vmop_error *run_loop(struct vmop_daemon *daemon)
{
	int status = sd_event_loop(daemon->loop);
	struct vmop_error *err = vmop_daemon_stop(daemon);
	if (!err && status < 0)
		err = vmop_error_os(-status, "event loop");
	return err;
}

/* Run the daemon in the run directory that it has locked. */
static struct vmop_error *work(struct vmop_daemon *daemon, const struct arguments *arguments,
			       int run_dir_fd, struct vmop_detach *detach)
{
	struct vmop_agent *agent = NULL;
	raise_descriptor_limit();
	struct vmop_error *err = make_loop(daemon);
	if (!err)
		err = add_signals(daemon, arguments->foreground);
	if (!err)
		err = open_control(daemon, run_dir_fd);
	if (!err)
		err = vmop_privileges_drop();
	if (!err && arguments->active)
		err = vmop_agent_create(daemon, &agent);
	daemon->exit_after = arguments->start;
	if (!err && arguments->start)
		err = vmop_daemon_start(daemon, NULL, arguments->duration_ns);
	if (!err)
		err = vmop_detach_ready(detach, run_dir_fd);
	if (!err) {
		sd_event_set_watchdog(daemon->loop, true);
		sd_notify(0, "READY=1");
		err = run_loop(daemon);
		sd_notify(0, "STOPPING=1");
	}
	vmop_agent_destroy(agent);
	vmop_control_destroy(daemon->control);
	return err;
}

/* Sample this machine and listen to vmopcontrol, as the only daemon. */
static struct vmop_error *serve(struct vmop_daemon *daemon, const struct arguments *arguments)
{
	_cleanup_(vmop_dir_deinit) struct vmop_dir run_dir = VMOP_DIR_NONE;
	struct vmop_detach detach = {.ready_fd = -1};
	int lock = -1;
	struct vmop_error *err = NULL;
	if (!arguments->foreground)
		err = vmop_detach_begin(&detach);
	if (!err)
		err = take_run_dir(&run_dir, &lock);
	if (err && err->code == VMOP_ERROR_BUSY && arguments->by_vmopcontrol) {
		vmop_error_destroy(err);
		daemon->exit_status = VMOP_EXIT_RUNS_ALREADY;
		return NULL;
	}
	if (err)
		return err;
	err = work(daemon, arguments, run_dir.fd, &detach);
	unlinkat(run_dir.fd, VMOP_RUN_PID, 0); /* before the process ends and releases the lock */
	return err;
}

/*
 * Replay a recorded stream into a session. Nothing of this machine is read. A signal ends the
 * replay at once, and the stored part stays.
 */
static struct vmop_error *replay(struct vmop_daemon *daemon, const struct arguments *arguments)
{
	if (!arguments->replay_path)
		return vmop_error_new(VMOP_ERROR_USAGE, "--source=replay needs --replay=FILE");
	daemon->exit_after = true;
	daemon->source = vmop_source_find("replay");
	struct vmop_error *err = make_loop(daemon);
	if (!err)
		err = vmop_daemon_start(daemon, arguments->replay_path, 0);
	return err ? err : run_loop(daemon);
}

static struct vmop_error *run(const struct arguments *arguments, struct vmop_daemon *daemon)
{
	bool is_replay = arguments->replay_path ||
			 (arguments->source && !strcmp(arguments->source, "replay"));
	if (arguments->bad_duration)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "--duration: '%s' is not a time such as 10s, 5m or 2h",
				      arguments->bad_duration);
	if (arguments->duration_ns && !arguments->start)
		return vmop_error_new(VMOP_ERROR_USAGE, "--duration goes with --start");
	if (arguments->active && (arguments->start || arguments->source || arguments->replay_path))
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "--active goes with none of --start, --source and --replay: "
				      "the host sets the events and the time of sampling");
	daemon->source = arguments->source ? vmop_source_find(arguments->source) : NULL;
	if (arguments->source && !daemon->source)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "--source: '%s' is neither perf, xen nor replay",
				      arguments->source);
	if (is_replay && arguments->source && strcmp(arguments->source, "replay") != 0)
		return vmop_error_new(VMOP_ERROR_USAGE, "--replay needs --source=replay");
	if (arguments->json && !arguments->list_events)
		return vmop_error_new(VMOP_ERROR_USAGE, "--json goes with --list-events");
	if (arguments->list_events)
		return vmop_list_events(arguments->json, arguments->level > VMOP_LOG_NOTICE);
	if (arguments->inspect_image)
		return vmop_inspect_image(arguments->inspect_image, arguments->stacks);
	if (arguments->inspect_guest)
		return vmop_inspect_guest(arguments->inspect_guest, arguments->stacks);
	if (arguments->stacks)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "--stacks goes with --inspect-image or --inspect-guest");
	struct vmop_error *err = read_setup(arguments, &daemon->setup);
	if (!err)
		err = check_events(&daemon->setup);
	if (err)
		return err;
	if (arguments->check_setup) {
		err = vmop_daemon_apply_group(daemon);
		if (!err)
			puts("the set-up is good");
		return err;
	}
	return is_replay ? replay(daemon, arguments) : serve(daemon, arguments);
}

int main(int argc, char **argv)
{
	struct arguments arguments = {.level = VMOP_LOG_NOTICE};
	vmop_heap_return_large();
	setlocale(LC_CTYPE, "");
	argp_err_exit_status = VMOP_EXIT_USAGE;
	vmop_options_parse(&argp, argc, argv, ARGP_NO_ARGS, &arguments);
	vmop_log_init("vmopd", arguments.level);
	struct vmop_daemon daemon = {0};
	struct vmop_error *err = run(&arguments, &daemon);
	int status = err ? vmop_error_exit_status(err) : daemon.exit_status;
	vmop_log_and_destroy(VMOP_LOG_ERROR, err);
	sd_event_unref(daemon.loop);
	vmop_setup_deinit(&daemon.setup);
	free(daemon.last_session);
	free(daemon.last_stacks);
	free(daemon.source_note);
	return status;
}
