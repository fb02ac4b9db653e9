// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The guest's end of the transfer of its session (hv-interface/active-file.h): the host's vmopd
 * connects, asks for the session that it commanded, and gets a copy of one moment, also while the
 * session goes on.
 *
 * One transfer at a time runs, in a thread of low priority. Only the host is served: from a port
 * below 1024, or by virtio-serial.
 */
#ifndef VMOP_DAEMON_ACTIVE_SESSION_SERVER_H
#define VMOP_DAEMON_ACTIVE_SESSION_SERVER_H

#include <stdint.h>
#include <systemd/sd-event.h>

#include "libutil/error.h"

struct vmop_session_server;

/* The session that can be fetched. */
struct vmop_offered_session {
	uint64_t token; /* of the initiator's session; 0: no session */
	char *path;	/* of its file; passes to the server */
};

struct vmop_session_server_options {
	sd_event *loop;
	int listener_fd; /* of vmop_active_vsock_listen_in_guest(); passes; -1: none */
	/* Store all samples up to now, and fill *ret. Called in the loop's thread. */
	void (*offer)(void *arg, struct vmop_offered_session *ret);
	void *arg;
};

/* After an error the listener is closed, too. */
struct vmop_error *vmop_session_server_create(const struct vmop_session_server_options *options,
					      struct vmop_session_server **ret);
/* Interrupt a transfer, and free server. NULL is allowed. */
void vmop_session_server_destroy(struct vmop_session_server *server);

/*
 * Serve a connection of the host, which passes to the server. Refused until another one has been
 * answered.
 */
void vmop_session_server_take(struct vmop_session_server *server, int fd);

#endif
