// SPDX-License-Identifier: GPL-2.0-or-later
#include "opcontrol/actions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "libdb/session-files.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/dirs/run-dir.h"
#include "libutil/io.h"
#include "libutil/json.h"
#include "libutil/log.h"
#include "libutil/protocol.h"
#include "opcontrol/command.h"
#include "opcontrol/daemon.h"
#include "opcontrol/inspect.h"
#include "opcontrol/session-facts.h"
#include "opcontrol/session-tables.h"
#include "opcontrol/status.h"

/* The number of daemons that may end before one takes the request. */
#define MAX_STARTS 5

/* ---- set-up -------------------------------------------------------------------- */

static struct vmop_error *save_setup(const struct control_request *request)
{
	if (!request->n_changed)
		return NULL;
	return vmop_setup_save(&request->setup, request->config, request->changed,
			       request->n_changed);
}

static struct vmop_error *do_setup(struct control_request *request, int *ret_status)
{
	(void)ret_status;
	_cleanup_free_ char *text = NULL;
	_cleanup_close_ int fd = memfd_create("vmop-setup", 0);
	char path[32];
	struct vmop_error *err = vmop_setup_format(&request->setup, &text);
	if (err)
		return err;
	if (fd < 0 || vmop_io_write_full(fd, text, strlen(text)) < 0)
		return vmop_error_os(errno, "memfd");
	/* Let vmopd check the set-up: only the daemon can parse events. */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	err = control_daemon_check_setup(path);
	if (!err)
		err = save_setup(request);
	if (!err && request->n_changed)
		vmop_log_info("%s: written", request->config);
	if (!err && (request->verbosity || !request->n_changed))
		printf("# %s\n%s", request->config, text);
	return err;
}

/* ---- start ------------------------------------------------------------------------ */

static json_t *start_request(const struct control_request *request, const char *setup,
			     bool exit_after)
{
	json_t *start = vmop_protocol_request("start");
	if (!start)
		return NULL;
	json_object_set_new(start, "setup", json_string(setup));
	json_object_set_new(start, "exit_after", json_boolean(exit_after));
	if (request->duration_ns)
		json_object_set_new(start, "duration_s",
				    json_real((double)request->duration_ns / 1e9));
	return start;
}

/* The session that this program started, so that it ends no other one. */
struct started {
	char *session_id;
	bool spawned; /* the daemon was started for it */
};

static void started_deinit(struct started *started)
{
	free(started->session_id);
}

/* Make a request that has no effect while another session runs. */
static json_t *guarded_request(const char *name, const char *session_id)
{
	json_t *request = vmop_protocol_request(name);
	if (request)
		json_object_set_new(request, "session_id", json_string(session_id));
	return request;
}

/* Shut down a daemon that was started for a session that failed, unless another session runs. */
static void shut_down_quietly(int fd)
{
	_cleanup_(vmop_json_cleanup) json_t *reply = NULL;
	pid_t pid = 0;
	vmop_error_destroy(vmop_run_holder(VMOP_RUN_PID, &pid));
	struct vmop_error *err = control_daemon_call(fd, guarded_request("shutdown", ""), &reply);
	if (!err)
		vmop_error_destroy(control_daemon_wait_gone(pid));
	vmop_error_destroy(err);
}

/* Start a session. VMOP_ERROR_BUSY: the daemon was ending, and is gone now. */
static struct vmop_error *start_once(const struct control_request *request, const char *setup,
				     bool *ret_spawned, json_t **ret)
{
	_cleanup_close_ int fd = -1;
	pid_t pid = 0;
	struct vmop_error *err =
		control_daemon_connect(request->config, request->verbosity, &fd, ret_spawned);
	if (err)
		return err;
	vmop_error_destroy(vmop_run_holder(VMOP_RUN_PID, &pid));
	err = control_daemon_call(fd, start_request(request, setup, *ret_spawned), ret);
	if (err && err->code == VMOP_ERROR_BUSY)
		return vmop_error_first(control_daemon_wait_gone(pid), err);
	if (err && *ret_spawned)
		shut_down_quietly(fd);
	return err;
}

/*
 * Start a session under a lock: if two programs start one, the second finds the session of the
 * first.
 */
static struct vmop_error *start_locked(const struct control_request *request, bool *ret_spawned,
				       json_t **ret)
{
	_cleanup_free_ char *setup = NULL;
	int lock;
	struct vmop_error *err = vmop_setup_format(&request->setup, &setup);
	if (!err)
		err = control_daemon_lock_start(&lock);
	if (err)
		return err;
	for (int tries = 0; tries < MAX_STARTS; tries++) {
		vmop_error_destroy(err);
		err = start_once(request, setup, ret_spawned, ret);
		if (!err || err->code != VMOP_ERROR_BUSY)
			break;
	}
	vmop_run_unlock(VMOP_RUN_START, lock);
	return err;
}

static struct vmop_error *start(const struct control_request *request, struct started *ret)
{
	_cleanup_(vmop_json_cleanup) json_t *reply = NULL;
	struct vmop_error *err = start_locked(request, &ret->spawned, &reply);
	if (err)
		return err;
	const char *id = json_string_value(json_object_get(reply, "session_id"));
	ret->session_id = strdup(id ? id : "");
	if (!ret->session_id)
		return &vmop_error_no_memory;
	const char *note = json_string_value(json_object_get(reply, "note"));
	if (note)
		vmop_log_notice("%s", note);
	const char *summary = json_string_value(json_object_get(reply, "summary"));
	vmop_log_notice("%s", summary ? summary : "sampling");
	/* Save only a set-up that works. Sampling continues if it cannot be saved. */
	err = save_setup(request);
	if (err)
		vmop_log_warning("%s (the set-up applies to this session only)", err->message);
	vmop_error_destroy(err);
	return NULL;
}

static struct vmop_error *do_start(struct control_request *request, int *ret_status)
{
	_cleanup_(started_deinit) struct started started = {0};
	(void)ret_status;
	return start(request, &started);
}

static struct vmop_error *do_start_daemon(struct control_request *request, int *ret_status)
{
	_cleanup_close_ int fd = -1;
	int lock;
	bool spawned = false;
	(void)ret_status;
	struct vmop_error *err = control_daemon_lock_start(&lock);
	if (err)
		return err;
	err = save_setup(request);
	if (!err)
		err = control_daemon_connect(request->config, request->verbosity, &fd, &spawned);
	vmop_run_unlock(VMOP_RUN_START, lock);
	if (!err && !spawned)
		err = vmop_error_new(VMOP_ERROR_CANT,
				     "vmopd runs already; see vmopcontrol --status");
	return err;
}

/* ---- the others -------------------------------------------------------------------- */

static void log_session_path(const json_t *reply, const char *what)
{
	const char *path = json_string_value(json_object_get(reply, "session"));
	if (path && *path)
		vmop_log_notice("%s %s", what, path);
}

/* Log where the session is that has just ended, and the ends of its call stacks. */
static void log_ended(const json_t *reply)
{
	const char *stacks = json_string_value(json_object_get(reply, "stacks"));
	if (stacks)
		vmop_log_notice("%s", stacks);
	log_session_path(reply, "the session is in");
}

static struct vmop_error *do_stop(struct control_request *request, int *ret_status)
{
	_cleanup_(vmop_json_cleanup) json_t *reply = NULL;
	(void)request;
	(void)ret_status;
	struct vmop_error *err = control_daemon_ask(vmop_protocol_request("stop"), &reply);
	if (!err)
		log_ended(reply);
	return err;
}

static struct vmop_error *do_dump(struct control_request *request, int *ret_status)
{
	_cleanup_(vmop_json_cleanup) json_t *reply = NULL;
	(void)request;
	(void)ret_status;
	return control_daemon_ask(vmop_protocol_request("dump"), &reply);
}

/*
 * Call after the reply to a shutdown request, which ends the daemon even if the session could not
 * be stored.
 */
static struct vmop_error *end_of_daemon(const json_t *reply, pid_t pid)
{
	const char *problem = json_string_value(json_object_get(reply, "problem"));
	if (!problem)
		log_ended(reply);
	return vmop_error_first(problem ? vmop_error_new(VMOP_ERROR_CANT, "%s", problem) : NULL,
				control_daemon_wait_gone(pid));
}

static struct vmop_error *do_shutdown(struct control_request *request, int *ret_status)
{
	_cleanup_(vmop_json_cleanup) json_t *reply = NULL;
	pid_t pid = 0;
	(void)request;
	(void)ret_status;
	vmop_error_destroy(vmop_run_holder(VMOP_RUN_PID, &pid));
	struct vmop_error *err = control_daemon_ask(vmop_protocol_request("shutdown"), &reply);
	if (err && err->code == VMOP_ERROR_BUSY) {
		vmop_error_destroy(err); /* it has ended already */
		return NULL;
	}
	return err ? err : end_of_daemon(reply, pid);
}

/* A change of the current session. Its word is the name of the daemon's request. */
enum change { SAVE, ROTATE, RESET };
static const char *const change_words[] = {[SAVE] = "save", [ROTATE] = "rotate", [RESET] = "reset"};

static struct vmop_error *keep_by_time(const char *dir, char **ret_name)
{
	struct vmop_error *err = vmop_session_keep(dir, ret_name);
	return err || *ret_name ? err
				: vmop_error_new(VMOP_ERROR_NOT_FOUND,
						 "%s: there is no current session", dir);
}

/* Do it without a daemon. The caller holds the lock that prevents one from starting. */
static struct vmop_error *without_daemon(const struct control_request *request, enum change change)
{
	const char *dir = request->setup.session_dir, *name = request->name;
	_cleanup_free_ char *stamp = NULL;
	struct vmop_error *err = change == SAVE	    ? vmop_session_save(dir, name)
				 : change == ROTATE ? keep_by_time(dir, &stamp)
						    : vmop_session_discard(dir);
	if (!err && change != RESET)
		vmop_log_notice("kept as %s/%s%s", dir, stamp ? stamp : name, VMOP_SESSION_SUFFIX);
	return err;
}

/* The time between two attempts while the daemon is busy. */
static const struct timespec moment = {.tv_nsec = 20000000};

/*
 * Wait until the daemon has completed the file of the session that it has left, so that the file
 * can be copied. A slow disk can take longer than the bound: the file can be read all the same.
 */
static void settle(int fd)
{
	uint64_t end_ns = vmop_clock_ns(CLOCK_MONOTONIC) + CONTROL_SETTLE_S * VMOP_NS_PER_S;
	for (;;) {
		_cleanup_(vmop_json_cleanup) json_t *reply = NULL;
		struct vmop_error *err =
			control_daemon_call(fd, vmop_protocol_request("settle"), &reply);
		bool is_busy = err && err->code == VMOP_ERROR_BUSY;
		vmop_error_destroy(err);
		if (!is_busy || vmop_clock_ns(CLOCK_MONOTONIC) >= end_ns)
			return;
		nanosleep(&moment, NULL);
	}
}

static struct vmop_error *with_daemon(const struct control_request *request, enum change change,
				      int fd)
{
	_cleanup_(vmop_json_cleanup) json_t *reply = NULL;
	json_t *ask = vmop_protocol_request(change_words[change]);
	const char *name = change == SAVE ? request->name : NULL;
	if (ask && name)
		json_object_set_new(ask, "name", json_string(name));
	if (ask && request->n_changed)
		json_object_set_new(ask, "session_dir", json_string(request->setup.session_dir));
	struct vmop_error *err = control_daemon_call(fd, ask, &reply);
	if (!err && json_is_true(json_object_get(reply, "goes_on")))
		settle(fd);
	if (!err && change != RESET)
		log_session_path(reply, "kept as");
	if (!err && json_is_true(json_object_get(reply, "goes_on")))
		vmop_log_notice("sampling goes on in a fresh session");
	return err;
}

/*
 * Save, rotate or reset through the daemon, or without one under the lock that prevents one from
 * starting. VMOP_ERROR_BUSY: a daemon is starting or ending. Without a run directory no daemon can
 * run.
 */
static struct vmop_error *change_once(const struct control_request *request, enum change change)
{
	_cleanup_close_ int fd = -1;
	_cleanup_(vmop_dir_deinit) struct vmop_dir dir = VMOP_DIR_NONE;
	int lock = -1;
	pid_t holder;
	struct vmop_error *err = control_daemon_find(&fd);
	if (!err && fd >= 0)
		return with_daemon(request, change, fd);
	if (!err)
		err = vmop_run_dir_open(&dir);
	if (!err && dir.fd >= 0)
		err = vmop_run_lock(VMOP_RUN_PID, 0, &lock, &holder);
	if (!err && dir.fd >= 0 && lock < 0)
		err = vmop_error_new(VMOP_ERROR_BUSY,
				     "vmopd is just starting or ending: try again");
	if (!err)
		err = without_daemon(request, change);
	vmop_run_unlock(VMOP_RUN_PID, lock);
	return err;
}

static struct vmop_error *change_session(const struct control_request *request, enum change change)
{
	uint64_t end_ns = vmop_clock_ns(CLOCK_MONOTONIC) + CONTROL_WAIT_S * VMOP_NS_PER_S;
	struct vmop_error *err = change == SAVE ? vmop_session_check_name(request->name) : NULL;
	if (err)
		return err;
	for (;;) {
		err = change_once(request, change);
		if (!err || err->code != VMOP_ERROR_BUSY ||
		    vmop_clock_ns(CLOCK_MONOTONIC) >= end_ns)
			return err;
		vmop_error_destroy(err);
		nanosleep(&moment, NULL);
	}
}

static struct vmop_error *do_save(struct control_request *request, int *ret_status)
{
	(void)ret_status;
	return change_session(request, SAVE);
}

static struct vmop_error *do_rotate(struct control_request *request, int *ret_status)
{
	(void)ret_status;
	return change_session(request, ROTATE);
}

static struct vmop_error *do_list(struct control_request *request, int *ret_status)
{
	_cleanup_(vmop_json_cleanup) json_t *sessions = NULL;
	(void)ret_status;
	struct vmop_error *err = control_sessions_facts(request->setup.session_dir, &sessions);
	if (err)
		return err;
	return request->json ? vmop_json_print(sessions, JSON_INDENT(2), stdout)
			     : control_sessions_table(sessions);
}

static struct vmop_error *do_describe(struct control_request *request, int *ret_status)
{
	_cleanup_(vmop_json_cleanup) json_t *facts = NULL;
	(void)ret_status;
	struct vmop_error *err =
		control_session_facts(request->setup.session_dir, request->name, &facts);
	if (err)
		return err;
	if (request->json)
		return vmop_json_print(facts, JSON_INDENT(2), stdout);
	control_session_table(facts);
	return NULL;
}

static struct vmop_error *do_delete(struct control_request *request, int *ret_status)
{
	(void)ret_status;
	return vmop_session_delete(request->setup.session_dir, request->name);
}

static struct vmop_error *do_reset(struct control_request *request, int *ret_status)
{
	(void)ret_status;
	return change_session(request, RESET);
}

static struct vmop_error *do_status(struct control_request *request, int *ret_status)
{
	_cleanup_(vmop_json_cleanup) json_t *reply = NULL;
	(void)ret_status;
	struct vmop_error *err = control_daemon_ask(vmop_protocol_request("status"), &reply);
	if (err)
		return err;
	return request->json ? control_status_json(reply) : control_status_table(reply);
}

static struct vmop_error *do_inspect(struct control_request *request, int *ret_status)
{
	_cleanup_(vmop_json_cleanup) json_t *reply = NULL;
	(void)ret_status;
	struct vmop_error *err;
	if (strchr(request->name, '/')) /* names of guests contain no slash */
		err = control_daemon_inspect("inspect-image", request->name, request->stacks,
					     &reply);
	else if (request->stacks)
		err = control_inspect_stacks(request->name, &reply);
	else
		err = control_inspect_ask(request->name, &reply);
	if (err)
		return err;
	return request->json ? control_status_json(reply)
			     : control_inspect_table(reply, request->verbosity > 0);
}

static struct vmop_error *do_list_events(struct control_request *request, int *ret_status)
{
	(void)ret_status;
	return control_daemon_list_events(request->json, request->verbosity);
}

static struct vmop_error *do_deinit(struct control_request *request, int *ret_status)
{
	_cleanup_close_ int fd = -1;
	struct vmop_error *err = control_daemon_find(&fd);
	if (!err && fd >= 0)
		err = do_shutdown(request, ret_status);
	return err ? err : control_daemon_clean_up();
}

/* ---- run ---------------------------------------------------------------------------- */

/*
 * End the session of --run, and the daemon if it was started for it. The session may have ended
 * already, through its --duration or another --stop. A later session of another user continues.
 */
static struct vmop_error *end_run(const struct started *started)
{
	_cleanup_close_ int fd = -1;
	_cleanup_(vmop_json_cleanup) json_t *reply = NULL;
	pid_t pid = 0;
	struct vmop_error *err = control_daemon_find(&fd);
	if (!err && fd < 0 && control_daemon_was_killed())
		return vmop_error_new(VMOP_ERROR_CANT,
				      "vmopd was killed while the command ran; the samples that it "
				      "stored until then are kept");
	if (!err && fd < 0)
		vmop_log_notice("vmopd ended before the command");
	if (err || fd < 0)
		return err;
	vmop_error_destroy(vmop_run_holder(VMOP_RUN_PID, &pid));
	err = control_daemon_call(
		fd, guarded_request(started->spawned ? "shutdown" : "stop", started->session_id),
		&reply);
	if (!err && started->spawned)
		return end_of_daemon(reply, pid);
	if (!err)
		log_ended(reply);
	if (err && (err->code == VMOP_ERROR_BUSY || err->code == VMOP_ERROR_NOT_FOUND)) {
		vmop_log_info("the session had ended already: %s", err->message);
		vmop_error_destroy(err);
		err = NULL;
	}
	return err;
}

static struct vmop_error *do_run(struct control_request *request, int *ret_status)
{
	_cleanup_(started_deinit) struct started started = {0};
	struct vmop_error *err = start(request, &started);
	if (err)
		return err;
	err = control_command_run(request->command, ret_status);
	struct vmop_error *next = end_run(&started);
	/* A command that failed gives the exit status; otherwise a session that failed does. */
	if (!err && !*ret_status)
		return next;
	vmop_log_and_destroy(VMOP_LOG_WARNING, next);
	return err;
}

const struct control_action control_actions[] = {
	{"setup", 'S' << 8, NULL, "Store the given set-up options; without any, print the set-up",
	 CONTROL_TAKES_SETUP, do_setup},
	{"start-daemon", 'D' << 8, NULL, "Start vmopd without sampling", CONTROL_TAKES_SETUP,
	 do_start_daemon},
	{"start", 's', NULL, "Begin a session; start vmopd if necessary",
	 CONTROL_TAKES_SETUP | CONTROL_TAKES_DURATION, do_start},
	{"dump", 'd', NULL, "Store all samples taken until now", 0, do_dump},
	{"stop", 't', NULL, "End the session; vmopd stays", 0, do_stop},
	{"shutdown", 'h', NULL, "End the session and vmopd", 0, do_shutdown},
	{"reset", 'R' << 8, NULL, "Discard the current session's samples", CONTROL_TAKES_DIR,
	 do_reset},
	{"save", 'v' << 8, "NAME", "Keep the current session as NAME", CONTROL_TAKES_DIR, do_save},
	{"rotate", CONTROL_KEY_ROTATE, NULL,
	 "Keep the current session under its time, and go on in the next one; =daily or =SIZE: a "
	 "set-up option",
	 CONTROL_TAKES_DIR, do_rotate},
	{"list", 'L' << 8, NULL, "List the sessions", CONTROL_TAKES_DIR | CONTROL_TAKES_JSON,
	 do_list},
	{"describe", 'B' << 8, "NAME", "Show a session's detail, events, domains, size and losses",
	 CONTROL_TAKES_DIR | CONTROL_TAKES_JSON, do_describe},
	{"delete", 'X' << 8, "NAME", "Delete a saved session", CONTROL_TAKES_DIR, do_delete},
	{"status", 'T' << 8, NULL, "Show the session, its samples, domains and losses",
	 CONTROL_TAKES_JSON, do_status},
	{"inspect", 'N' << 8, "DOMAIN|FILE",
	 "Show the kernel, processes and vCPUs of a guest, or of a FILE (with a /) of its memory",
	 CONTROL_TAKES_JSON | CONTROL_TAKES_STACKS, do_inspect},
	{"list-events", 'l', NULL, "List the events of this machine; with --verbose all of them",
	 CONTROL_TAKES_JSON, do_list_events},
	{"run", 'r' << 8, NULL, "Sample while COMMAND (after --) runs",
	 CONTROL_TAKES_SETUP | CONTROL_TAKES_DURATION | CONTROL_TAKES_COMMAND, do_run},
	{"deinit", 'I' << 8, NULL, "End vmopd and remove its run-time files", 0, do_deinit},
	{0},
};

const struct control_action *control_action_find(int key)
{
	for (const struct control_action *action = control_actions; action->name; action++)
		if (action->key == key)
			return action;
	return NULL;
}
