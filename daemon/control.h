// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The server of the control socket, on an event loop. It passes each line of a client to the owner
 * and sends the owner's reply back (libutil/protocol.h).
 *
 * Permissions follow from the peer's credentials (SO_PEERCRED). Root and the daemon's own user may
 * send any request. Members of one group may read the status. Other peers are refused and
 * disconnected.
 *
 * No client can block the daemon: the number of clients, the length of a line and the time between
 * requests are bounded, and the loop answers one request per turn. Clients that may only read the
 * status have a bound of their own, so they can't keep root out. A descriptor is held in reserve, so
 * that one client is answered when the process has no other one free.
 */
#ifndef VMOP_DAEMON_CONTROL_H
#define VMOP_DAEMON_CONTROL_H

#include <jansson.h>
#include <sys/types.h>
#include <systemd/sd-event.h>

#include "libutil/error.h"

#define VMOP_CONTROL_MAX_CLIENTS 16
#define VMOP_CONTROL_MAX_READERS 8 /* of them, clients that may only read the status */
#define VMOP_CONTROL_READER_TURNS_PER_S 50
#ifndef VMOP_CONTROL_CLIENT_TIMEOUT_S	 /* tests set a shorter time */
#define VMOP_CONTROL_CLIENT_TIMEOUT_S 10 /* from one request to the next */
#endif

enum vmop_control_right {
	VMOP_CONTROL_NOTHING,
	VMOP_CONTROL_STATUS,
	VMOP_CONTROL_ALL,
};

struct vmop_control;

/* Answer one request. The server frees the reply. NULL: out of memory. */
typedef json_t *(*vmop_control_handler)(void *arg, const json_t *request,
					enum vmop_control_right right);

/*
 * Listen at the socket `name` of the directory dir_fd, and replace the socket of a dead daemon. The
 * caller holds the run directory's lock, and no other user can write the directory. A file
 * of another user in the socket's place is an error. Only this user and root can connect.
 */
struct vmop_error *vmop_control_create(sd_event *loop, int dir_fd, const char *name,
				       vmop_control_handler handler, void *arg,
				       struct vmop_control **ret);
/* Disconnect all clients and remove the socket. NULL is allowed. */
void vmop_control_destroy(struct vmop_control *control);

/*
 * Let members of gid read the status; (gid_t)-1: no group. Then only they can connect, too. Without
 * the privilege to change the socket's group, every user can connect.
 */
void vmop_control_set_status_group(struct vmop_control *control, gid_t gid);

#endif
