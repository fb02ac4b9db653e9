// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/requests.h"

#include <errno.h>
#include <grp.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/inspect.h"
#include "daemon/status.h"
#include "hv-interface/source-list.h"
#include "libdb/session-files.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/json.h"
#include "libutil/log.h"
#include "libutil/protocol.h"

/* ---- the one session --------------------------------------------------------- */

static void on_ended(void *arg)
{
	struct vmop_daemon *daemon = arg;
	struct vmop_error *err = vmop_daemon_stop(daemon);
	if (err)
		daemon->exit_status = vmop_error_exit_status(err);
	else
		vmop_log_notice("%s: finished", daemon->last_session);
	vmop_log_and_destroy(VMOP_LOG_ERROR, err);
	if (daemon->exit_after)
		sd_event_exit(daemon->loop, 0);
}

/* Describe the source that is used in the place of the expected one. */
static char *source_note(struct vmop_session *session, const char *reason)
{
	struct vmop_session_status status;
	char *note = NULL;
	vmop_session_status(session, &status);
	if (reason && asprintf(&note, "%s: sampling by %s", reason,
			       status.transport ? status.transport : "perf") < 0)
		return NULL;
	return note;
}

struct vmop_error *vmop_daemon_start(struct vmop_daemon *daemon, const char *replay_path,
				     uint64_t duration_ns)
{
	const char *why_source = NULL;
	const struct vmop_session_options options = {
		.setup = &daemon->setup,
		.source = daemon->source ? daemon->source : vmop_source_pick(&why_source),
		.replay_path = replay_path,
		.duration_ns = duration_ns,
		.loop = daemon->loop,
		.ended = on_ended,
		.arg = daemon,
		.is_active = daemon->is_active,
		.given_uuid = daemon->given_uuid,
		.feed = daemon->feed,
	};
	struct vmop_error *err = vmop_session_start(&options, &daemon->session);
	if (err)
		return err;
	/* Make an id that no other session on this machine has, also after a restart. */
	snprintf(daemon->session_id, sizeof(daemon->session_id), "%d-%" PRIu64, (int)getpid(),
		 vmop_clock_ns(CLOCK_BOOTTIME));
	free(daemon->source_note);
	daemon->source_note = source_note(daemon->session, why_source);
	if (daemon->source_note)
		vmop_log_notice("%s", daemon->source_note);
	_cleanup_free_ char *summary = vmop_session_summary(daemon->session);
	vmop_log_notice("%s", summary ? summary : "sampling");
	return NULL;
}

struct vmop_error *vmop_daemon_stop(struct vmop_daemon *daemon)
{
	struct vmop_session *session = daemon->session;
	if (!session)
		return NULL;
	struct vmop_session_status status;
	vmop_session_status(session, &status);
	if (!status.is_recorded)
		vmop_log_notice("longest pause of the sampling thread: %.1f ms",
				(double)status.longest_pause_ns / 1e6);
	_cleanup_free_ char *path = status.path ? strdup(status.path) : NULL;
	daemon->session = NULL;
	free(daemon->last_stacks);
	struct vmop_error *err = vmop_session_stop(session, &daemon->last_stacks);
	if (daemon->last_stacks)
		vmop_log_notice("%s", daemon->last_stacks);
	free(daemon->last_session);
	/* After an error the file may be gone. */
	daemon->last_session = path && access(path, F_OK) == 0 ? vmop_steal(&path) : NULL;
	if (!err)
		vmop_log_info("%s: finished", daemon->last_session);
	return err;
}

struct vmop_error *vmop_daemon_apply_group(struct vmop_daemon *daemon)
{
	gid_t gid = (gid_t)-1;
	const char *name = daemon->setup.status_group;
	if (name) {
		const struct group *group = getgrnam(name);
		if (!group)
			return vmop_error_new(VMOP_ERROR_USAGE,
					      "status-group: there is no group '%s'", name);
		gid = group->gr_gid;
	}
	if (daemon->control)
		vmop_control_set_status_group(daemon->control, gid);
	return NULL;
}

/* ---- requests ------------------------------------------------------------------- */

static struct vmop_error *need_session(const struct vmop_daemon *daemon)
{
	if (daemon->session)
		return NULL;
	return vmop_error_new(VMOP_ERROR_CANT,
			      "vmopd is not profiling: vmopcontrol --start begins");
}

/* Refuse the request if it names another session than the running one. */
static struct vmop_error *check_session_id(const struct vmop_daemon *daemon, const json_t *request)
{
	const char *id = json_string_value(json_object_get(request, "session_id"));
	if (!id || !daemon->session || !strcmp(id, daemon->session_id))
		return NULL;
	return vmop_error_new(VMOP_ERROR_NOT_FOUND, "another session runs now");
}

static struct vmop_error *already_running(struct vmop_daemon *daemon)
{
	struct vmop_session_status status;
	vmop_session_status(daemon->session, &status);
	time_t start = (time_t)(status.start_ns / VMOP_NS_PER_S);
	struct tm tm;
	char text[32];
	gmtime_r(&start, &tm);
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &tm);
	return vmop_error_new(VMOP_ERROR_CANT,
			      "already profiling since %s; vmopcontrol --stop first", text);
}

static struct vmop_error *put_text(json_t *reply, const char *name, const char *text)
{
	return json_object_set_new(reply, name, vmop_json_text(text ? text : "")) < 0
		       ? &vmop_error_no_memory
		       : NULL;
}

static struct vmop_error *put_path(json_t *reply, struct vmop_daemon *daemon)
{
	struct vmop_session_status status = {.path = daemon->last_session};
	if (daemon->session)
		vmop_session_status(daemon->session, &status);
	return put_text(reply, "session", status.path);
}

/* Describe the session that has just ended. */
static struct vmop_error *put_ended(json_t *reply, struct vmop_daemon *daemon)
{
	struct vmop_error *err = put_path(reply, daemon);
	return err || !daemon->last_stacks ? err : put_text(reply, "stacks", daemon->last_stacks);
}

static struct vmop_error *take_setup(const json_t *request, struct vmop_setup *ret)
{
	const char *text = json_string_value(json_object_get(request, "setup"));
	if (!text)
		return vmop_error_new(VMOP_ERROR_USAGE, "start: no set-up given");
	struct vmop_error *err = vmop_setup_init(ret);
	if (!err)
		err = vmop_setup_parse(ret, "set-up", text);
	return err ? err : vmop_setup_check(ret);
}

static struct vmop_error *take_duration(const json_t *request, uint64_t *ret_ns)
{
	const json_t *value = json_object_get(request, "duration_s");
	double seconds = json_number_value(value);
	*ret_ns = 0;
	if (!value)
		return NULL;
	if (!json_is_number(value) || !(seconds > 0 && seconds < 9.2e9))
		return vmop_error_new(VMOP_ERROR_USAGE, "duration: not a time above 0");
	*ret_ns = (uint64_t)(seconds * 1e9);
	return NULL;
}

/* Refuse a request that only the host may send to an active guest. */
static struct vmop_error *check_command(const struct vmop_daemon *daemon)
{
	if (!daemon->is_active)
		return NULL;
	return vmop_error_new(
		VMOP_ERROR_CANT,
		"this is an active guest (vmopd --active): sessions begin and end on the "
		"host (Xen: in dom0), by vmopcontrol --start --active-domains=... and --stop "
		"there");
}

static struct vmop_error *do_start(struct vmop_daemon *daemon, const json_t *request, json_t *reply)
{
	uint64_t duration_ns;
	_cleanup_(vmop_setup_deinit) struct vmop_setup setup = {0};
	struct vmop_error *err = check_command(daemon);
	if (!err && daemon->session)
		err = already_running(daemon);
	if (!err)
		err = take_duration(request, &duration_ns);
	if (!err)
		err = take_setup(request, &setup);
	if (err)
		return err;
	struct vmop_setup old = daemon->setup;
	daemon->setup = setup; /* restored if the start fails */
	setup = old;
	err = vmop_daemon_apply_group(daemon);
	if (!err)
		err = vmop_daemon_start(daemon, NULL, duration_ns);
	if (err) {
		setup = daemon->setup;
		daemon->setup = old;
		return err;
	}
	daemon->exit_after = json_is_true(json_object_get(request, "exit_after"));
	_cleanup_free_ char *summary = vmop_session_summary(daemon->session);
	err = put_text(reply, "summary", summary);
	if (!err && daemon->source_note)
		err = put_text(reply, "note", daemon->source_note);
	if (!err)
		err = put_text(reply, "session_id", daemon->session_id);
	return err ? err : put_path(reply, daemon);
}

static struct vmop_error *do_stop(struct vmop_daemon *daemon, const json_t *request, json_t *reply)
{
	struct vmop_error *err = check_command(daemon);
	if (!err)
		err = check_session_id(daemon, request);
	if (!err)
		err = need_session(daemon);
	if (!err)
		err = vmop_daemon_stop(daemon);
	return err ? err : put_ended(reply, daemon);
}

static struct vmop_error *do_dump(struct vmop_daemon *daemon, const json_t *request, json_t *reply)
{
	(void)request;
	struct vmop_error *err = need_session(daemon);
	if (!err)
		err = vmop_session_dump(daemon->session);
	if (!err)
		vmop_session_fetch(daemon->session);
	return err ? err : put_path(reply, daemon);
}

/* A running session has its directory; without one the client may name another. */
static const char *idle_dir(const struct vmop_daemon *daemon, const json_t *request)
{
	const char *dir = json_string_value(json_object_get(request, "session_dir"));
	return dir && !daemon->session ? dir : daemon->setup.session_dir;
}

static struct vmop_error *do_save(struct vmop_daemon *daemon, const json_t *request, json_t *reply)
{
	const char *name = json_string_value(json_object_get(request, "name"));
	if (!name)
		return vmop_error_new(VMOP_ERROR_USAGE, "save: no name given");
	const char *dir = idle_dir(daemon, request);
	json_object_set_new(reply, "goes_on", json_boolean(daemon->session));
	struct vmop_error *err = daemon->session ? vmop_session_rotate(daemon->session, name)
						 : vmop_session_save(dir, name);
	if (err)
		return err;
	_cleanup_free_ char *path = vmop_session_path(dir, name);
	return put_text(reply, "session", path);
}

static struct vmop_error *do_rotate(struct vmop_daemon *daemon, const json_t *request,
				    json_t *reply)
{
	_cleanup_free_ char *name = NULL, *path = NULL;
	const char *dir = idle_dir(daemon, request);
	json_object_set_new(reply, "goes_on", json_boolean(daemon->session));
	struct vmop_error *err = daemon->session
					 ? vmop_session_rotate_by_time(daemon->session, &name)
					 : vmop_session_keep(dir, &name);
	if (err)
		return err;
	if (!name)
		return vmop_error_new(VMOP_ERROR_NOT_FOUND, "%s: there is no current session", dir);
	path = vmop_session_path(dir, name);
	return put_text(reply, "session", path);
}

static struct vmop_error *do_reset(struct vmop_daemon *daemon, const json_t *request, json_t *reply)
{
	json_object_set_new(reply, "goes_on", json_boolean(daemon->session));
	return daemon->session ? vmop_session_rotate(daemon->session, NULL)
			       : vmop_session_discard(idle_dir(daemon, request));
}

/* Wait until a saved file is complete: the client asks again. */
static struct vmop_error *do_settle(struct vmop_daemon *daemon, const json_t *request,
				    json_t *reply)
{
	(void)request;
	(void)reply;
	if (!daemon->session || vmop_session_is_settled(daemon->session))
		return NULL;
	return vmop_error_new(VMOP_ERROR_BUSY, "the saved session is being completed");
}

static struct vmop_error *do_shutdown(struct vmop_daemon *daemon, const json_t *request,
				      json_t *reply)
{
	bool had_session = daemon->session;
	struct vmop_error *err = check_session_id(daemon, request);
	if (err)
		return err;
	err = vmop_daemon_stop(daemon);
	/* The loop ends after this turn, in which the reply is still sent. */
	sd_event_exit(daemon->loop, 0);
	if (!err)
		return had_session ? put_ended(reply, daemon) : NULL;
	struct vmop_error *next = put_text(reply, "problem", err->message);
	vmop_log_and_destroy(VMOP_LOG_ERROR, err);
	return next;
}

static struct vmop_error *do_inspect(struct vmop_daemon *daemon, const json_t *request,
				     json_t *reply)
{
	struct vmop_error *err = need_session(daemon);
	return err ? err : vmop_inspect(daemon->session, request, reply);
}

static const struct request {
	const char *name;
	struct vmop_error *(*act)(struct vmop_daemon *daemon, const json_t *request, json_t *reply);
	bool is_repeated; /* by the client, as long as the error is VMOP_ERROR_BUSY */
} requests[] = {
	{"start", do_start, false},	{"stop", do_stop, false},
	{"dump", do_dump, false},	{"save", do_save, true},
	{"rotate", do_rotate, true},	{"reset", do_reset, true},
	{"settle", do_settle, true},	{"shutdown", do_shutdown, false},
	{"inspect", do_inspect, false},
};
#define N_REQUESTS (sizeof(requests) / sizeof(requests[0]))

static struct vmop_error *act(struct vmop_daemon *daemon, const char *name, const json_t *request,
			      enum vmop_control_right right, json_t *reply)
{
	if (right != VMOP_CONTROL_ALL)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "members of status-group may ask for --status only; "
				      "run it as root");
	for (size_t i = 0; i < N_REQUESTS; i++) {
		if (strcmp(name, requests[i].name) != 0)
			continue;
		struct vmop_error *err = requests[i].act(daemon, request, reply);
		/* Another program that locks the session's file is no reason to ask again. */
		if (err && err->code == VMOP_ERROR_BUSY && !requests[i].is_repeated)
			err->code = VMOP_ERROR_OS;
		return err;
	}
	return vmop_error_new(VMOP_ERROR_USAGE, "vmopd knows no request '%.40s'", name);
}

json_t *vmop_daemon_handle(void *arg, const json_t *request, enum vmop_control_right right)
{
	struct vmop_daemon *daemon = arg;
	const char *name = json_string_value(json_object_get(request, "request"));
	if (name && !strcmp(name, "status"))
		return vmop_status_reply(daemon->session, daemon->last_session,
					 daemon->setup.session_dir);
	json_t *reply = vmop_protocol_ok();
	if (!reply)
		return NULL;
	struct vmop_error *err = act(daemon, name ? name : "", request, right, reply);
	if (!err)
		return reply;
	json_decref(reply);
	reply = vmop_protocol_failure(err);
	vmop_error_destroy(err);
	return reply;
}
