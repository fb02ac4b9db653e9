// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/xen/window-server.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>

#include "daemon/xen/carrier.h"
#include "daemon/xen/window-line.h"
#include "libutil/cleanup.h"
#include "libutil/log.h"

struct vmop_window_server {
	struct vmop_window_server_options options;
	uint64_t number;	      /* of the last line that was answered */
	struct vmop_carrier *carrier; /* NULL: none was begun, or it has ended */
};

struct vmop_error *vmop_window_server_create(const struct vmop_window_server_options *options,
					     struct vmop_window_server **ret)
{
	struct vmop_window_server *server = calloc(1, sizeof(*server));
	if (!server)
		return &vmop_error_no_memory;
	server->options = *options;
	*ret = server;
	return NULL;
}

void vmop_window_server_destroy(struct vmop_window_server *server)
{
	if (!server)
		return;
	vmop_carrier_end(server->carrier);
	free(server);
}

/* Free a thread that has ended. */
static void tidy(struct vmop_window_server *server)
{
	_cleanup_(vmop_error_cleanup) struct vmop_error *err = NULL;
	if (!server->carrier || !vmop_carrier_has_ended(server->carrier, &err))
		return;
	if (err)
		vmop_log_info("dom0's connection for the session ended: %s", err->message);
	vmop_carrier_end(vmop_steal(&server->carrier));
}

/* Grant memory, and connect it with the server of sessions. */
static struct vmop_error *open_window(struct vmop_window_server *server,
				      uint32_t refs[VMOP_WINDOW_PAGES])
{
	struct vmop_carrier_options options = {.grants = server->options.grants,
					       .side = VMOP_WINDOW_AGENT};
	int pair[2];
	struct vmop_error *err = options.grants->share(refs, &options.granted);
	if (err)
		return err;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0) {
		err = vmop_error_os(errno, "socketpair");
		options.grants->unshare(&options.granted);
		return err;
	}
	options.fd = pair[0];
	server->options.serve(server->options.arg, pair[1]);
	return vmop_carrier_begin(&options, &server->carrier);
}

void vmop_window_server_look(struct vmop_window_server *server)
{
	struct vmop_active_store *store = server->options.store;
	struct vmop_window_line line;
	char text[VMOP_ACTIVE_MESSAGE_BYTES];
	tidy(server);
	if (!store->ops->read(store, text) || !vmop_window_line_parse(text, &line) ||
	    line.has_refs || line.number == server->number)
		return;
	server->number = line.number;
	vmop_carrier_end(vmop_steal(&server->carrier));
	struct vmop_window_line answer = {.number = line.number};
	struct vmop_error *err = open_window(server, answer.refs);
	answer.has_refs = !err;
	if (err)
		snprintf(answer.reason, sizeof(answer.reason), "%s", err->message);
	vmop_window_line_format(&answer, text);
	store->ops->write(store, text);
	vmop_log_and_destroy(VMOP_LOG_WARNING, err);
}
