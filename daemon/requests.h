// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The daemon as its clients see it: at most one session, and a table of requests
 * that begin it, end it and ask about it.  One thread, the loop's.
 *
 * | request  | members                                   | reply's members           |
 * |----------|-------------------------------------------|---------------------------|
 * | status   |                                           | see status.h              |
 * | start    | setup (INI text), duration_s, exit_after  | summary, session, note,   |
 * |          |                                           | session_id                |
 * | stop     | session_id                                | session                   |
 * | dump     |                                           | session                   |
 * | save     | name, session_dir (of an idle daemon)     | session, goes_on          |
 * | reset    | session_dir (of an idle daemon)           | goes_on                   |
 * | shutdown | session_id                                | session, problem          |
 *
 * stop and shutdown with a session_id do nothing, and reply VMOP_ERROR_NOT_FOUND, while another
 * session runs: its client may end only what it began. "" is the id of no session.
 */
#ifndef VMOP_DAEMON_REQUESTS_H
#define VMOP_DAEMON_REQUESTS_H

#include <jansson.h>
#include <stdbool.h>
#include <systemd/sd-event.h>

#include "daemon/control.h"
#include "daemon/session.h"

struct vmop_daemon {
	sd_event *loop;
	struct vmop_control *control; /* NULL: a replay, which listens to nobody */
	struct vmop_setup setup;      /* the one it was started with, or the last session's */
	struct vmop_session *session; /* NULL: idle */
	char session_id[48];	      /* of the session, or of the last one; its files may change */
	char *last_session;	      /* path of the file that ended last, or NULL */
	bool exit_after;	      /* when the session ends by itself */
	int exit_status;
	char *source_note; /* why it is not the obvious one, and what it samples; NULL: it is */
	const struct vmop_source_ops *source; /* that was asked for; NULL: what fits the machine */
	bool is_active;			      /* dom0 begins and ends the sessions: agent.h */
};

/* The control socket's handler; arg is a struct vmop_daemon. */
json_t *vmop_daemon_handle(void *arg, const json_t *request, enum vmop_control_right right);

/* Begins a session with daemon->setup and daemon->source; says what is sampled. */
struct vmop_error *vmop_daemon_start(struct vmop_daemon *daemon, const char *replay_path,
				     uint64_t duration_ns);

/* Ends the session, if there is one. */
struct vmop_error *vmop_daemon_stop(struct vmop_daemon *daemon);

/* The set-up's status-group as the control socket takes it. VMOP_ERROR_USAGE: no such group. */
struct vmop_error *vmop_daemon_apply_group(struct vmop_daemon *daemon);

#endif
