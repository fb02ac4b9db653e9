// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The agent's part in the windows through which dom0 fetches its session: grants the memory when
 * dom0's line wants a window (window-line.h), and connects it with the server of sessions. One
 * window at a time; a new one replaces an old one, whose dom0 is gone. No function waits long.
 */
#ifndef VMOP_DAEMON_XEN_WINDOW_SERVER_H
#define VMOP_DAEMON_XEN_WINDOW_SERVER_H

#include "daemon/xen/grants.h"
#include "hv-interface/active-message.h"
#include "libutil/error.h"

struct vmop_window_server;

struct vmop_window_server_options {
	struct vmop_active_store *store; /* of the two lines; not owned */
	const struct vmop_grants_ops *grants;
	/* Serve a connection of dom0, a non-blocking socket which passes: session-server.h. */
	void (*serve)(void *arg, int fd);
	void *arg;
};

struct vmop_error *vmop_window_server_create(const struct vmop_window_server_options *options,
					     struct vmop_window_server **ret);
/* Interrupt a transfer, and free server. NULL is allowed. */
void vmop_window_server_destroy(struct vmop_window_server *server);

/* Read dom0's line, and answer a new one. Call it about twice a second. */
void vmop_window_server_look(struct vmop_window_server *server);

#endif
