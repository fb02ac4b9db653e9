// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/xen/fetching.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "daemon/active/fetches.h"
#include "daemon/xen/carrier.h"
#include "daemon/xen/domains.h"
#include "daemon/xen/guests.h"
#include "daemon/xen/window-line.h"
#include "libutil/cleanup.h"
#include "libutil/log.h"

/*
 * A connection to a domain's agent, from the request for a window to its end. The store stays open
 * for the next one: a store that is closed may write its last line after a new one's first.
 */
struct connection {
	bool is_used;
	uint32_t domain;
	char name[VMOP_GUEST_NAME_BYTES];
	struct vmop_active_store *store; /* NULL: the place was never used */
	uint64_t number;
	int fd;			      /* until there is a carrier: the end of the pair of sockets */
	struct vmop_carrier *carrier; /* NULL: the agent has not answered yet */
};

struct vmop_xen_fetching {
	struct vmop_xen_fetching_options options; /* setup: not used after the creation */
	struct vmop_fetches *fetches;
	struct connection connections[VMOP_XEN_ACTIVE_MAX];
};

/* The argument of the steps within a wait. */
struct wait {
	struct vmop_xen_fetching *fetching;
	const struct vmop_domains *domains;
};

struct vmop_error *vmop_xen_fetching_create(const struct vmop_xen_fetching_options *options,
					    struct vmop_xen_fetching **ret)
{
	struct vmop_xen_fetching *fetching = calloc(1, sizeof(*fetching));
	if (!fetching)
		return &vmop_error_no_memory;
	fetching->options = *options;
	struct vmop_error *err = vmop_fetches_create(options->setup, NULL, &fetching->fetches);
	if (err) {
		free(fetching);
		return err;
	}
	*ret = fetching;
	return NULL;
}

/* ---- one connection -------------------------------------------------------------------------- */

static void end_connection(struct connection *connection)
{
	vmop_carrier_end(connection->carrier);
	connection->carrier = NULL;
	if (connection->fd >= 0)
		close(connection->fd);
	connection->fd = -1;
	connection->store->ops->write(connection->store, "");
	connection->is_used = false;
}

static void close_store(struct vmop_xen_fetching *fetching, struct connection *connection)
{
	const struct vmop_active_opener *windows = fetching->options.windows;
	if (connection->store)
		windows->close(windows->arg, connection->store);
	connection->store = NULL;
}

/* Return the place of a domain's connection, or another unused one; NULL: all are used. */
static struct connection *find_place(struct vmop_xen_fetching *fetching, uint32_t domain)
{
	struct connection *found = NULL;
	for (size_t i = 0; i < VMOP_XEN_ACTIVE_MAX; i++) {
		struct connection *connection = &fetching->connections[i];
		if (connection->store && connection->domain == domain)
			return connection;
		if (!connection->is_used && (!found || found->store))
			found = connection;
	}
	return found;
}

/* Make a place that of a domain. */
static struct vmop_error *open_store(struct vmop_xen_fetching *fetching,
				     struct connection *connection,
				     const struct vmop_domain *domain)
{
	const struct vmop_active_opener *windows = fetching->options.windows;
	if (connection->store && connection->domain == domain->source_id)
		return NULL;
	close_store(fetching, connection);
	connection->domain = domain->source_id;
	return windows->open(windows->arg, domain->source_id, &connection->store);
}

/* Ask a domain for a window. Set *ret_fd to the fetch's end of the pair of sockets. */
static struct vmop_error *begin_connection(struct vmop_xen_fetching *fetching,
					   struct connection *connection,
					   const struct vmop_domain *domain, int *ret_fd)
{
	const struct vmop_window_line line = {.number = vmop_window_number()};
	char text[VMOP_ACTIVE_MESSAGE_BYTES];
	int pair[2];
	struct vmop_error *err = open_store(fetching, connection, domain);
	if (err)
		return err;
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0)
		return vmop_error_os(errno, "socketpair");
	connection->is_used = true;
	connection->number = line.number;
	connection->fd = pair[0];
	snprintf(connection->name, sizeof(connection->name), "%s", domain->name);
	vmop_window_line_format(&line, text);
	connection->store->ops->write(connection->store, text);
	*ret_fd = pair[1];
	return NULL;
}

/* Log why a connection is no use. The fetch logs that no session came. */
static void log_reason(const struct connection *connection, const char *reason)
{
	vmop_log_warning("guest \"%s\": its session can't come: %s", connection->name, reason);
}

/* Carry the bytes through the window of an answer. */
static void take_answer(struct vmop_xen_fetching *fetching, struct connection *connection,
			const struct vmop_window_line *line)
{
	struct vmop_carrier_options options = {.grants = fetching->options.grants,
					       .side = VMOP_WINDOW_HOST,
					       .domain = connection->domain};
	if (!line->has_refs) {
		log_reason(connection, *line->reason ? line->reason : "it grants no memory");
		end_connection(connection);
		return;
	}
	options.fd = vmop_steal_fd(&connection->fd);
	memcpy(options.refs, line->refs, sizeof(options.refs));
	vmop_log_and_destroy(VMOP_LOG_WARNING, vmop_carrier_begin(&options, &connection->carrier));
	if (!connection->carrier)
		end_connection(connection);
}

static void await_answer(struct vmop_xen_fetching *fetching, struct connection *connection)
{
	struct pollfd pollfd = {.fd = connection->fd};
	struct vmop_window_line line;
	char text[VMOP_ACTIVE_MESSAGE_BYTES];
	poll(&pollfd, 1, 0);
	if (pollfd.revents) { /* the fetch has ended: its time limits are those of the wait */
		end_connection(connection);
		return;
	}
	if (connection->store->ops->read(connection->store, text) &&
	    vmop_window_line_parse(text, &line) && line.number == connection->number)
		take_answer(fetching, connection, &line);
}

static void step(struct vmop_xen_fetching *fetching, struct connection *connection)
{
	_cleanup_(vmop_error_cleanup) struct vmop_error *err = NULL;
	if (!connection->carrier) {
		await_answer(fetching, connection);
		return;
	}
	if (!vmop_carrier_has_ended(connection->carrier, &err))
		return;
	if (err)
		log_reason(connection, err->message);
	end_connection(connection);
}

/* ---- all of them ----------------------------------------------------------------------------- */

static bool is_active(const struct vmop_domain *domain)
{
	return domain->kind == VMOP_DOMAIN_ACTIVE && domain->is_running &&
	       vmop_domain_is_domu(domain);
}

static void fetch(struct vmop_xen_fetching *fetching, const struct vmop_domain *domain)
{
	struct vmop_fetched_guest guest = {
		.vmm_pid = domain->source_id,
		.pidfd = -1,
		.is_of_xen = true,
		.token = vmop_source_agent_session(fetching->options.source, domain->source_id),
		.name = domain->name,
		.uuid = domain->uuid};
	struct connection *connection =
		guest.token ? find_place(fetching, domain->source_id) : NULL;
	if (!connection || connection->is_used)
		return;
	struct vmop_error *err = begin_connection(fetching, connection, domain, &guest.fd);
	if (!err)
		vmop_fetches_begin(fetching->fetches, &guest);
	vmop_log_and_destroy(VMOP_LOG_WARNING, err);
}

void vmop_xen_fetching_begin(struct vmop_xen_fetching *fetching, const struct vmop_domains *domains)
{
	vmop_fetches_set_host(fetching->fetches, *domains->at[0]->uuid);
	for (uint32_t i = 1; i < domains->n; i++)
		if (is_active(domains->at[i]))
			fetch(fetching, domains->at[i]);
}

/* Note in a domain how the fetch of its session does. */
static void note(const struct vmop_xen_fetching *fetching, struct vmop_domain *domain)
{
	switch (vmop_fetches_state(fetching->fetches, domain->source_id)) {
	case VMOP_FETCHES_GOES_ON:
		vmop_domain_set_note(domain, "its session is being fetched");
		break;
	case VMOP_FETCHES_DONE:
		vmop_domain_set_note(domain, "its session was fetched");
		break;
	case VMOP_FETCHES_FAILED:
		vmop_domain_set_note(domain, "its session was not fetched: see vmopd's log");
		break;
	case VMOP_FETCHES_NONE:
		break;
	}
}

bool vmop_xen_fetching_step(struct vmop_xen_fetching *fetching, const struct vmop_domains *domains)
{
	bool goes_on = vmop_fetches_step(fetching->fetches);
	for (size_t i = 0; i < VMOP_XEN_ACTIVE_MAX; i++) {
		if (fetching->connections[i].is_used)
			step(fetching, &fetching->connections[i]);
		goes_on |= fetching->connections[i].is_used;
	}
	for (uint32_t i = 1; i < domains->n; i++)
		if (is_active(domains->at[i]))
			note(fetching, domains->at[i]);
	return goes_on;
}

void vmop_xen_fetching_leave_session(struct vmop_xen_fetching *fetching, const char *path)
{
	vmop_fetches_leave_session(fetching->fetches, path);
}

static void go_on(void *arg)
{
	const struct wait *wait = arg;
	vmop_xen_fetching_step(wait->fetching, wait->domains);
}

/* End the connections whose fetches have ended, so that the domains can have the next ones. */
static void end_connections(struct vmop_xen_fetching *fetching)
{
	for (size_t i = 0; i < VMOP_XEN_ACTIVE_MAX; i++)
		if (fetching->connections[i].is_used)
			end_connection(&fetching->connections[i]);
}

void vmop_xen_fetching_end(struct vmop_xen_fetching *fetching, const struct vmop_domains *domains)
{
	struct wait wait = {fetching, domains};
	/* A fetch that goes on still brings a file from before the end. */
	vmop_fetches_wait(fetching->fetches, go_on, &wait);
	end_connections(fetching);
	vmop_xen_fetching_begin(fetching, domains);
	vmop_fetches_wait(fetching->fetches, go_on, &wait);
	end_connections(fetching);
}

void vmop_xen_fetching_destroy(struct vmop_xen_fetching *fetching)
{
	if (!fetching)
		return;
	vmop_fetches_destroy(fetching->fetches);
	end_connections(fetching);
	for (size_t i = 0; i < VMOP_XEN_ACTIVE_MAX; i++)
		close_store(fetching, &fetching->connections[i]);
	free(fetching);
}
