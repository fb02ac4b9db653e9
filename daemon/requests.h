// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The daemon's requests. It runs at most one session, which requests begin, end and inspect. All
 * functions belong to the loop's thread.
 *
 * | request  | members                                   | reply's members           |
 * |----------|-------------------------------------------|---------------------------|
 * | status   |                                           | see status.h              |
 * | start    | setup (INI text), duration_s, exit_after  | summary, session, note,   |
 * |          |                                           | session_id                |
 * | stop     | session_id                                | session, stacks           |
 * | dump     |                                           | session                   |
 * | save     | name, session_dir (of an idle daemon)     | session, goes_on          |
 * | rotate   | session_dir (of an idle daemon)           | session, goes_on          |
 * | reset    | session_dir (of an idle daemon)           | goes_on                   |
 * | shutdown | session_id                                | session, stacks, problem  |
 *
 * stop and shutdown with the session_id of another session than the running one do nothing and
 * reply VMOP_ERROR_NOT_FOUND. A client can so end only the session that it began. No session has
 * the id "".
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
	struct vmop_control *control; /* NULL: a replay, which takes no requests */
	struct vmop_setup setup;      /* of vmopd's start, or of the last session */
	struct vmop_session *session; /* NULL: idle */
	char session_id[48];	      /* of the session or of the last one. Its file can change. */
	char *last_session;	      /* path of the last finished file, or NULL */
	char *last_stacks;	      /* the number and the ends of its call stacks, or NULL */
	bool exit_after;	      /* when the session ends without a request */
	int exit_status;
	char *source_note; /* why the source is not the expected one, and its transport; or NULL */
	const struct vmop_source_ops *source; /* of --source; NULL: the one that fits the machine */
	bool is_active;			      /* the host begins and ends sessions: agent.h */
	const char *given_uuid;		      /* of this machine, from that host; or NULL */
	struct vmop_handed_feed *feed;	      /* of the handed source, from agent.h; or NULL */
};

/* The control socket's handler; arg is a struct vmop_daemon. */
json_t *vmop_daemon_handle(void *arg, const json_t *request, enum vmop_control_right right);

/* Begin a session with daemon->setup and daemon->source, and log its summary. */
struct vmop_error *vmop_daemon_start(struct vmop_daemon *daemon, const char *replay_path,
				     uint64_t duration_ns);

/* End the session, if there is one. */
struct vmop_error *vmop_daemon_stop(struct vmop_daemon *daemon);

/* Let the set-up's status-group use the control socket. VMOP_ERROR_USAGE: no such group. */
struct vmop_error *vmop_daemon_apply_group(struct vmop_daemon *daemon);

#endif
