// SPDX-License-Identifier: GPL-2.0-or-later
#include "opcontrol/actions.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "libdb/session-files.h"
#include "libutil/cleanup.h"
#include "libutil/io.h"
#include "libutil/log.h"
#include "libutil/protocol.h"
#include "libutil/run-dir.h"
#include "opcontrol/command.h"
#include "opcontrol/daemon.h"
#include "opcontrol/inspect.h"
#include "opcontrol/status.h"

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
	/* The daemon's own eyes: how events are written is for it to know. */
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

static void shut_down_quietly(int fd)
{
	_cleanup_(vmop_json_cleanup) json_t *reply = NULL;
	vmop_error_destroy(
		control_daemon_call(fd, vmop_protocol_request("shutdown"), &reply));
	vmop_error_destroy(control_daemon_wait_gone());
}

/* *ret_spawned: the daemon was begun for this. */
static struct vmop_error *start(const struct control_request *request, bool *ret_spawned)
{
	_cleanup_close_ int fd = -1;
	_cleanup_free_ char *setup = NULL;
	_cleanup_(vmop_json_cleanup) json_t *reply = NULL;
	struct vmop_error *err = vmop_setup_format(&request->setup, &setup);
	if (!err)
		err = control_daemon_find(&fd);
	*ret_spawned = !err && fd < 0;
	if (*ret_spawned)
		err = control_daemon_spawn(request->config, request->verbosity, &fd);
	if (err)
		return err;
	err = control_daemon_call(fd, start_request(request, setup, *ret_spawned), &reply);
	if (err && *ret_spawned)
		shut_down_quietly(fd);
	if (err)
		return err;
	const char *note = json_string_value(json_object_get(reply, "note"));
	if (note)
		vmop_log_notice("%s", note);
	const char *summary = json_string_value(json_object_get(reply, "summary"));
	vmop_log_notice("%s", summary ? summary : "sampling");
	/* Only a set-up that works is kept. That it can't be written is no reason not to sample. */
	err = save_setup(request);
	if (err)
		vmop_log_warning("%s (the set-up holds for this session alone)", err->message);
	vmop_error_destroy(err);
	return NULL;
}

static struct vmop_error *do_start(struct control_request *request, int *ret_status)
{
	bool spawned;
	(void)ret_status;
	return start(request, &spawned);
}

static struct vmop_error *do_start_daemon(struct control_request *request, int *ret_status)
{
	_cleanup_close_ int fd = -1;
	(void)ret_status;
	struct vmop_error *err = control_daemon_find(&fd);
	if (!err && fd >= 0)
		return vmop_error_new(VMOP_ERROR_CANT, "vmopd runs already; see vmopcontrol --status");
	if (!err)
		err = save_setup(request);
	return err ? err : control_daemon_spawn(request->config, request->verbosity, &fd);
}

/* ---- the others -------------------------------------------------------------------- */

static void tell_session(const json_t *reply, const char *what)
{
	const char *path = json_string_value(json_object_get(reply, "session"));
	if (path && *path)
		vmop_log_notice("%s %s", what, path);
}

static struct vmop_error *do_stop(struct control_request *request, int *ret_status)
{
	_cleanup_(vmop_json_cleanup) json_t *reply = NULL;
	(void)request;
	(void)ret_status;
	struct vmop_error *err = control_daemon_ask(vmop_protocol_request("stop"), &reply);
	if (!err)
		tell_session(reply, "the session is in");
	return err;
}

static struct vmop_error *do_dump(struct control_request *request, int *ret_status)
{
	_cleanup_(vmop_json_cleanup) json_t *reply = NULL;
	(void)request;
	(void)ret_status;
	return control_daemon_ask(vmop_protocol_request("dump"), &reply);
}

/* After the reply to a shutdown, which ends the daemon also where the session could not be stored.
 */
static struct vmop_error *end_of_daemon(const json_t *reply)
{
	const char *problem = json_string_value(json_object_get(reply, "problem"));
	if (!problem)
		tell_session(reply, "the session is in");
	return vmop_error_first(problem ? vmop_error_new(VMOP_ERROR_CANT, "%s", problem) : NULL,
				control_daemon_wait_gone());
}

static struct vmop_error *do_shutdown(struct control_request *request, int *ret_status)
{
	_cleanup_(vmop_json_cleanup) json_t *reply = NULL;
	(void)request;
	(void)ret_status;
	struct vmop_error *err = control_daemon_ask(vmop_protocol_request("shutdown"), &reply);
	return err ? err : end_of_daemon(reply);
}

/*
 * Runs act on the session directory while no daemon can begin; -1 in *ret_fd: one
 * runs after all.  Without a run directory there is nobody to keep out.
 */
static struct vmop_error *keep_daemons_out(int *ret_lock, bool *ret_is_free)
{
	pid_t holder;
	*ret_is_free = true;
	if (access(vmop_run_dir(), F_OK) < 0)
		return NULL;
	struct vmop_error *err = vmop_run_lock(0, ret_lock, &holder);
	*ret_is_free = !err && *ret_lock >= 0;
	return err;
}

static void let_daemons_in(int lock)
{
	_cleanup_free_ char *pid_file = vmop_run_path(VMOP_RUN_PID);
	if (lock >= 0 && pid_file)
		unlink(pid_file);
}

/* --save (name) and --reset (NULL) where no daemon runs. */
static struct vmop_error *without_daemon(const struct control_request *request, const char *name)
{
	_cleanup_close_ int lock = -1;
	bool is_free;
	const char *dir = request->setup.session_dir;
	struct vmop_error *err = keep_daemons_out(&lock, &is_free);
	if (!err && !is_free)
		err = vmop_error_new(VMOP_ERROR_CANT, "vmopd is just starting or ending: try again");
	if (!err)
		err = name ? vmop_session_save(dir, name) : vmop_session_discard(dir);
	if (!err && name)
		vmop_log_notice("kept as %s/%s%s", dir, name, VMOP_SESSION_SUFFIX);
	let_daemons_in(lock);
	return err;
}

static struct vmop_error *save_or_reset(const struct control_request *request, const char *name)
{
	_cleanup_close_ int fd = -1;
	_cleanup_(vmop_json_cleanup) json_t *reply = NULL;
	struct vmop_error *err = name ? vmop_session_check_name(name) : NULL;
	if (!err)
		err = control_daemon_find(&fd);
	if (err)
		return err;
	if (fd < 0)
		return without_daemon(request, name);
	json_t *ask = vmop_protocol_request(name ? "save" : "reset");
	if (ask && name)
		json_object_set_new(ask, "name", json_string(name));
	if (ask && request->n_changed)
		json_object_set_new(ask, "session_dir",
				    json_string(request->setup.session_dir));
	err = control_daemon_call(fd, ask, &reply);
	if (!err && name)
		tell_session(reply, "kept as");
	if (!err && json_is_true(json_object_get(reply, "goes_on")))
		vmop_log_notice("sampling goes on in a fresh session");
	return err;
}

static struct vmop_error *do_save(struct control_request *request, int *ret_status)
{
	(void)ret_status;
	return save_or_reset(request, request->name);
}

static struct vmop_error *do_reset(struct control_request *request, int *ret_status)
{
	(void)ret_status;
	return save_or_reset(request, NULL);
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
	/* Names of guests have no slash. */
	struct vmop_error *err = strchr(request->name, '/')
					 ? control_daemon_inspect_image(request->name, &reply)
					 : control_inspect_ask(request->name, &reply);
	if (err)
		return err;
	return request->json ? control_status_json(reply) :
			       control_inspect_table(reply, request->verbosity > 0);
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

/* The session may have ended before: its --duration was over, or somebody stopped it. */
static struct vmop_error *end_run(bool spawned)
{
	_cleanup_close_ int fd = -1;
	_cleanup_(vmop_json_cleanup) json_t *reply = NULL;
	struct vmop_error *err = control_daemon_find(&fd);
	if (err || fd < 0)
		return err;
	err = control_daemon_call(fd, vmop_protocol_request(spawned ? "shutdown" : "stop"),
				  &reply);
	if (err)
		return err;
	if (spawned)
		return end_of_daemon(reply);
	tell_session(reply, "the session is in");
	return NULL;
}

static struct vmop_error *do_run(struct control_request *request, int *ret_status)
{
	bool spawned;
	struct vmop_error *err = start(request, &spawned);
	if (err)
		return err;
	err = control_command_run(request->command, ret_status);
	struct vmop_error *next = end_run(spawned);
	/* The command's status is what was asked for; that the end was not clean is worth a line. */
	vmop_log_and_destroy(VMOP_LOG_WARNING, next);
	return err;
}

const struct control_action control_actions[] = {
	{"setup", 'S' << 8, NULL, "Keep the set-up options given; print it without any",
	 CONTROL_TAKES_SETUP, do_setup},
	{"start-daemon", 'D' << 8, NULL, "Start vmopd without sampling", CONTROL_TAKES_SETUP,
	 do_start_daemon},
	{"start", 's', NULL, "Begin a session; start vmopd if need be",
	 CONTROL_TAKES_SETUP | CONTROL_TAKES_DURATION, do_start},
	{"dump", 'd', NULL, "Store what was sampled until now", 0, do_dump},
	{"stop", 't', NULL, "End the session; vmopd stays", 0, do_stop},
	{"shutdown", 'h', NULL, "End the session and vmopd", 0, do_shutdown},
	{"reset", 'R' << 8, NULL, "Throw the current session's samples away", CONTROL_TAKES_DIR,
	 do_reset},
	{"save", 'v' << 8, "NAME", "Keep the current session as NAME", CONTROL_TAKES_DIR, do_save},
	{"status", 'T' << 8, NULL, "Show what is sampled, stored and lost", CONTROL_TAKES_JSON,
	 do_status},
	{"inspect", 'N' << 8, "DOMAIN|FILE",
	 "Show what is known of the inside of a guest, or what a FILE (with a /) of its memory tells",
	 CONTROL_TAKES_JSON, do_inspect},
	{"list-events", 'l', NULL, "List what can be sampled here; with --verbose all of it",
	 CONTROL_TAKES_JSON, do_list_events},
	{"run", 'r' << 8, NULL, "Sample while the COMMAND behind -- runs",
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
