// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The control socket's server: clients come and go on an event loop, each
 * line that one sends is handed to the owner, whose answer is sent back
 * (libutil/protocol.h).
 *
 * Who may do what is decided by the peer's credentials (SO_PEERCRED): root and
 * the daemon's own user everything; members of one group may read the status;
 * all others are told no and hung up on.  Clients are bounded in number, in
 * the length of a line and in time, and get one request answered a turn of the loop, so that none
 * of them can hold up the daemon.  Those who may only read the status have bounds of their own, so
 * that they cannot keep root out.
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
#ifndef VMOP_CONTROL_CLIENT_TIMEOUT_S	 /* a test is not that patient */
#define VMOP_CONTROL_CLIENT_TIMEOUT_S 10 /* from one request to the next */
#endif

enum vmop_control_right {
	VMOP_CONTROL_NOTHING,
	VMOP_CONTROL_STATUS,
	VMOP_CONTROL_ALL,
};

struct vmop_control;

/* Answers one request; the reply is the server's to free. NULL: out of memory. */
typedef json_t *(*vmop_control_handler)(void *arg, const json_t *request,
					enum vmop_control_right right);

/*
 * Listens at the socket `name` of the directory dir_fd, over what a dead daemon left there: the
 * caller holds the run directory's lock, and no other user can write the directory.  A file
 * of another user at that place is refused. Only this user and root can connect.
 */
struct vmop_error *vmop_control_create(sd_event *loop, int dir_fd, const char *name,
				       vmop_control_handler handler, void *arg,
				       struct vmop_control **ret);
/* Hangs up on everybody and removes the socket. NULL is allowed. */
void vmop_control_destroy(struct vmop_control *control);

/*
 * Lets members of gid read the status; (gid_t)-1: nobody.  Only they can connect then or, where
 * the right to give the socket to a group was dropped already, every user can.
 */
void vmop_control_set_status_group(struct vmop_control *control, gid_t gid);

#endif
