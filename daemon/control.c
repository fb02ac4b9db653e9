// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/control.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/log.h"
#include "libutil/protocol.h"

static const uint64_t client_timeout_us = VMOP_CONTROL_CLIENT_TIMEOUT_S * (uint64_t)1000000;

struct client {
	struct vmop_control *control;
	int fd;
	enum vmop_control_right right;
	bool hang_up; /* after what is still to be sent */
	sd_event_source *io, *timer;
	char *in; /* VMOP_PROTOCOL_MAX_LINE_BYTES */
	size_t in_len;
	char *out; /* NULL: nothing to send */
	size_t out_len, out_done;
};

struct vmop_control {
	sd_event *loop;
	vmop_control_handler handler;
	void *arg;
	char *path;
	int fd;
	sd_event_source *listening;
	gid_t status_gid;
	struct client *clients[VMOP_CONTROL_MAX_CLIENTS];
};

/* ---- who is it? ------------------------------------------------------------- */

static bool is_member(int fd, const struct ucred *peer, gid_t gid)
{
	if (gid == (gid_t)-1)
		return false;
	if (peer->gid == gid)
		return true;
	gid_t groups[256]; /* a peer in more of them than this is judged by the first gid alone */
	socklen_t len = sizeof(groups);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERGROUPS, groups, &len) < 0)
		return false;
	for (size_t i = 0; i < len / sizeof(groups[0]); i++)
		if (groups[i] == gid)
			return true;
	return false;
}

static enum vmop_control_right right_of(const struct vmop_control *control, int fd,
					struct ucred *ret_peer)
{
	socklen_t len = sizeof(*ret_peer);
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, ret_peer, &len) < 0)
		return VMOP_CONTROL_NOTHING;
	if (ret_peer->uid == 0 || ret_peer->uid == geteuid())
		return VMOP_CONTROL_ALL;
	return is_member(fd, ret_peer, control->status_gid) ? VMOP_CONTROL_STATUS :
							      VMOP_CONTROL_NOTHING;
}

/* ---- one client --------------------------------------------------------------- */

static void client_destroy(struct client *client)
{
	if (!client)
		return;
	struct vmop_control *control = client->control;
	for (size_t i = 0; i < VMOP_CONTROL_MAX_CLIENTS; i++)
		if (control->clients[i] == client)
			control->clients[i] = NULL;
	sd_event_source_disable_unref(client->io);
	sd_event_source_disable_unref(client->timer);
	if (client->fd >= 0)
		close(client->fd);
	free(client->in);
	free(client->out);
	free(client);
}

/* Sends what the socket takes now. False: the client is gone. */
static bool client_send(struct client *client)
{
	while (client->out) {
		ssize_t n = send(client->fd, client->out + client->out_done,
				 client->out_len - client->out_done, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return sd_event_source_set_io_events(client->io, EPOLLOUT) >= 0;
		if (n < 0)
			return false;
		client->out_done += (size_t)n;
		if (client->out_done < client->out_len)
			continue;
		free(client->out);
		client->out = NULL;
	}
	if (client->hang_up)
		return false;
	return sd_event_source_set_io_events(client->io, EPOLLIN) >= 0;
}

/* Consumes reply. */
static void client_answer(struct client *client, json_t *reply)
{
	struct vmop_error *err = NULL;
	client->out_done = 0;
	if (!reply)
		err = &vmop_error_no_memory;
	else
		err = vmop_protocol_encode(reply, &client->out, &client->out_len);
	json_decref(reply);
	if (!err)
		return;
	json_t *failure = vmop_protocol_failure(err);
	vmop_error_destroy(err);
	client->hang_up = true;
	if (failure)
		vmop_error_destroy(vmop_protocol_encode(failure, &client->out, &client->out_len));
	json_decref(failure);
}

static void client_refuse(struct client *client, struct vmop_error *err)
{
	client->hang_up = true;
	client_answer(client, vmop_protocol_failure(err));
	vmop_error_destroy(err);
}

static void client_take_line(struct client *client, size_t len)
{
	_cleanup_(vmop_json_cleanup) json_t *request = NULL;
	struct vmop_error *err = vmop_protocol_decode(client->in, len, &request);
	if (err) {
		client_refuse(client, err);
		return;
	}
	client_answer(client,
		      client->control->handler(client->control->arg, request, client->right));
}

/* Answers the lines that are complete, one after the other. False: the client is gone. */
static bool client_take_lines(struct client *client)
{
	while (!client->out && client->in_len) {
		const char *end = memchr(client->in, '\n', client->in_len);
		if (!end && client->in_len == VMOP_PROTOCOL_MAX_LINE_BYTES)
			client_refuse(client, vmop_error_new(VMOP_ERROR_LIMIT,
							     "a request has at most %d bytes",
							     VMOP_PROTOCOL_MAX_LINE_BYTES));
		else if (!end)
			return true;
		else
			client_take_line(client, (size_t)(end - client->in));
		size_t taken = end ? (size_t)(end - client->in) + 1 : client->in_len;
		client->in_len -= taken;
		memmove(client->in, client->in + taken, client->in_len);
		sd_event_source_set_time_relative(client->timer, client_timeout_us);
		if (!client_send(client))
			return false;
	}
	return true;
}

static bool client_receive(struct client *client)
{
	ssize_t n = recv(client->fd, client->in + client->in_len,
			 VMOP_PROTOCOL_MAX_LINE_BYTES - client->in_len, MSG_DONTWAIT);
	if (n < 0)
		return errno == EINTR || errno == EAGAIN || errno == EWOULDBLOCK;
	client->in_len += (size_t)n;
	return n > 0 && client_take_lines(client);
}

static int on_client(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct client *client = arg;
	(void)source;
	(void)fd;
	bool is_alive = true;
	if (events & EPOLLOUT)
		is_alive = client_send(client) && client_take_lines(client);
	else if (events & EPOLLIN)
		is_alive = client_receive(client);
	else
		is_alive = false; /* hung up */
	if (!is_alive)
		client_destroy(client);
	return 0;
}

static int on_timeout(sd_event_source *source, uint64_t due_us, void *arg)
{
	(void)source;
	(void)due_us;
	client_destroy(arg);
	return 0;
}

/* ---- the door ------------------------------------------------------------------- */

/* A word to somebody who isn't let in, as far as the socket takes it at once. */
static void turn_away(int fd, struct vmop_error *err)
{
	_cleanup_(vmop_json_cleanup) json_t *reply = vmop_protocol_failure(err);
	_cleanup_free_ char *line = NULL;
	size_t len;
	vmop_error_destroy(err);
	err = reply ? vmop_protocol_encode(reply, &line, &len) : &vmop_error_no_memory;
	if (!err && send(fd, line, len, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
		vmop_log_debug("a client that is not let in does not listen: %s", strerror(errno));
	vmop_error_destroy(err);
}

static struct client **free_place(struct vmop_control *control)
{
	for (size_t i = 0; i < VMOP_CONTROL_MAX_CLIENTS; i++)
		if (!control->clients[i])
			return &control->clients[i];
	return NULL;
}

/* Owns fd when true. */
static bool let_in(struct vmop_control *control, struct client **place, int fd,
		   enum vmop_control_right right)
{
	struct client *client = calloc(1, sizeof(*client));
	if (!client)
		return false;
	*client = (struct client){.control = control, .fd = -1, .right = right};
	client->in = malloc(VMOP_PROTOCOL_MAX_LINE_BYTES);
	if (!client->in ||
	    sd_event_add_io(control->loop, &client->io, fd, EPOLLIN, on_client, client) < 0 ||
	    sd_event_add_time_relative(control->loop, &client->timer, CLOCK_MONOTONIC,
				       client_timeout_us, 0, on_timeout, client) < 0) {
		client_destroy(client);
		return false;
	}
	client->fd = fd;
	*place = client;
	return true;
}

static int on_connection(sd_event_source *source, int listening_fd, uint32_t events, void *arg)
{
	struct vmop_control *control = arg;
	struct ucred peer = {.uid = (uid_t)-1};
	(void)source;
	(void)events;
	_cleanup_close_ int fd = accept4(listening_fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return 0; /* it changed its mind, or descriptors ran out: the next may do */
	enum vmop_control_right right = right_of(control, fd, &peer);
	struct client **place = free_place(control);
	if (right == VMOP_CONTROL_NOTHING)
		turn_away(fd, vmop_error_new(VMOP_ERROR_CANT,
					     "uid %u may not control vmopd: run it as root, or set "
					     "status-group for --status",
					     (unsigned)peer.uid));
	else if (!place)
		turn_away(fd, vmop_error_new(VMOP_ERROR_LIMIT,
					     "vmopd has %d clients already: try again",
					     VMOP_CONTROL_MAX_CLIENTS));
	else if (let_in(control, place, fd, right))
		vmop_steal_fd(&fd);
	return 0;
}

static struct vmop_error *listen_at(const char *path, int *ret)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(path) >= sizeof(address.sun_path))
		return vmop_error_new(VMOP_ERROR_USAGE, "%s: too long for a socket's path", path);
	strcpy(address.sun_path, path);
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return vmop_error_os(errno, "socket");
	if (unlink(path) < 0 && errno != ENOENT)
		return vmop_error_os(errno, "%s", path);
	/* Everybody may connect: who may do what is told by credentials, and told to them. */
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
	    chmod(path, 0666) < 0 || listen(fd, VMOP_CONTROL_MAX_CLIENTS) < 0)
		return vmop_error_os(errno, "%s", path);
	*ret = vmop_steal_fd(&fd);
	return NULL;
}

struct vmop_error *vmop_control_create(sd_event *loop, const char *path,
				       vmop_control_handler handler, void *arg,
				       struct vmop_control **ret)
{
	struct vmop_control *control = calloc(1, sizeof(*control));
	if (!control)
		return &vmop_error_no_memory;
	*control = (struct vmop_control){
		.loop = loop,
		.handler = handler,
		.arg = arg,
		.fd = -1,
		.status_gid = (gid_t)-1,
	};
	struct vmop_error *err = listen_at(path, &control->fd);
	if (!err && !(control->path = strdup(path)))
		err = &vmop_error_no_memory;
	int status = 0;
	if (!err)
		status = sd_event_add_io(loop, &control->listening, control->fd, EPOLLIN,
					 on_connection, control);
	/* Neither a flood of connections nor a want of descriptors may keep the loop busy. */
	if (!err && status >= 0)
		status = sd_event_source_set_ratelimit(control->listening, 1000000, 200);
	if (status < 0)
		err = vmop_error_os(-status, "event loop");
	if (err)
		vmop_control_destroy(control);
	else
		*ret = control;
	return err;
}

void vmop_control_destroy(struct vmop_control *control)
{
	if (!control)
		return;
	for (size_t i = 0; i < VMOP_CONTROL_MAX_CLIENTS; i++)
		client_destroy(control->clients[i]);
	sd_event_source_disable_unref(control->listening);
	if (control->fd >= 0)
		close(control->fd);
	if (control->path)
		unlink(control->path);
	free(control->path);
	free(control);
}

void vmop_control_set_status_group(struct vmop_control *control, gid_t gid)
{
	control->status_gid = gid;
}
