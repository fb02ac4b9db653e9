// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/control.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "libutil/cleanup.h"
#include "libutil/dirs/run-dir.h"
#include "libutil/io.h"
#include "libutil/log.h"
#include "libutil/protocol.h"

static const uint64_t client_timeout_us = VMOP_CONTROL_CLIENT_TIMEOUT_S * (uint64_t)1000000;

struct client {
	struct vmop_control *control;
	int fd;
	enum vmop_control_right right;
	bool hang_up; /* after the pending output is sent */
	sd_event_source *io, *timer;
	char *in; /* VMOP_PROTOCOL_MAX_LINE_BYTES */
	size_t in_len;
	char *out; /* NULL: no pending output */
	size_t out_len, out_done;
};

struct vmop_control {
	sd_event *loop;
	vmop_control_handler handler;
	void *arg;
	int dir_fd;
	char *name; /* of the socket in the directory */
	int fd;
	int reserve; /* given up for a client when no other descriptor is free; -1: it is in use */
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
	gid_t groups[256]; /* of a peer in more groups only the first gid counts */
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
	return is_member(fd, ret_peer, control->status_gid) ? VMOP_CONTROL_STATUS
							    : VMOP_CONTROL_NOTHING;
}

/* ---- the reserve descriptor ------------------------------------------------------ */

static void fill_reserve(struct vmop_control *control)
{
	if (control->reserve < 0)
		control->reserve = fcntl(control->dir_fd, F_DUPFD_CLOEXEC, 3);
}

/* Accept a connection, by the reserve if the process has no other descriptor left. */
static int accept_client(struct vmop_control *control)
{
	const int flags = SOCK_CLOEXEC | SOCK_NONBLOCK;
	int fd = accept4(control->fd, NULL, NULL, flags);
	if (fd >= 0 || (errno != EMFILE && errno != ENFILE) || control->reserve < 0)
		return fd;
	close(control->reserve);
	control->reserve = -1;
	return accept4(control->fd, NULL, NULL, flags);
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
	fill_reserve(control);
	free(client->in);
	free(client->out);
	free(client);
}

/* Send as much as the socket takes now. Return false if the client is gone. */
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

/* Send reply and free it. */
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

/*
 * Answers the next line, if it is complete. More lines wait for the loop's next turn,
 * when the socket can take data or has taken the reply. Return false if the client is gone.
 */
static bool client_take_next(struct client *client)
{
	if (client->out || !client->in_len)
		return true;
	const char *end = memchr(client->in, '\n', client->in_len);
	if (!end && client->in_len < VMOP_PROTOCOL_MAX_LINE_BYTES)
		return true;
	if (end)
		client_take_line(client, (size_t)(end - client->in));
	else
		client_refuse(client,
			      vmop_error_new(VMOP_ERROR_LIMIT, "a request has at most %d bytes",
					     VMOP_PROTOCOL_MAX_LINE_BYTES));
	size_t taken = end ? (size_t)(end - client->in) + 1 : client->in_len;
	client->in_len -= taken;
	memmove(client->in, client->in + taken, client->in_len);
	sd_event_source_set_time_relative(client->timer, client_timeout_us);
	if (!client_send(client))
		return false;
	if (client->out || !memchr(client->in, '\n', client->in_len))
		return true;
	return sd_event_source_set_io_events(client->io, EPOLLOUT) >= 0;
}

static bool client_receive(struct client *client)
{
	ssize_t n = recv(client->fd, client->in + client->in_len,
			 VMOP_PROTOCOL_MAX_LINE_BYTES - client->in_len, MSG_DONTWAIT);
	if (n < 0)
		return vmop_io_may_retry(errno);
	client->in_len += (size_t)n;
	return n > 0 && client_take_next(client);
}

static int on_client(sd_event_source *source, int fd, uint32_t events, void *arg)
{
	struct client *client = arg;
	(void)source;
	(void)fd;
	bool is_alive = true;
	if (events & EPOLLOUT)
		is_alive = client_send(client) && client_take_next(client);
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

/* Send a refusal to a peer, as far as the socket takes it at once. */
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

static unsigned count_readers(const struct vmop_control *control)
{
	unsigned n = 0;
	for (size_t i = 0; i < VMOP_CONTROL_MAX_CLIENTS; i++)
		n += control->clients[i] && control->clients[i]->right == VMOP_CONTROL_STATUS;
	return n;
}

/* Add a client. Return true and own fd, or false: the caller still owns fd. */
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
				       client_timeout_us, 0, on_timeout, client) < 0 ||
	    (right == VMOP_CONTROL_STATUS &&
	     sd_event_source_set_ratelimit(client->io, 1000000, VMOP_CONTROL_READER_TURNS_PER_S) <
		     0)) {
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
	(void)listening_fd;
	(void)events;
	fill_reserve(control);
	_cleanup_close_ int fd = accept_client(control);
	if (fd < 0)
		return 0; /* the peer left, or no descriptor is free: accept the next one later */
	enum vmop_control_right right = right_of(control, fd, &peer);
	struct client **place = free_place(control);
	if (right == VMOP_CONTROL_NOTHING)
		turn_away(fd, vmop_error_new(VMOP_ERROR_CANT,
					     "uid %u may not control vmopd: run it as root, or set "
					     "status-group for --status",
					     (unsigned)peer.uid));
	else if (!place || (right == VMOP_CONTROL_STATUS &&
			    count_readers(control) >= VMOP_CONTROL_MAX_READERS))
		turn_away(fd, vmop_error_new(VMOP_ERROR_LIMIT,
					     "vmopd has %d clients already: try again",
					     VMOP_CONTROL_MAX_CLIENTS));
	else if (let_in(control, place, fd, right))
		vmop_steal_fd(&fd);
	return 0;
}

/* Remove the socket that a dead daemon left, or another file of this user in its place. */
static struct vmop_error *clear_place(int dir_fd, const char *name)
{
	struct stat st;
	if (fstatat(dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? NULL : vmop_error_os(errno, "%s", name);
	if (st.st_uid != 0 && st.st_uid != geteuid())
		return vmop_error_new(VMOP_ERROR_CANT, "%s/%s: a file of uid %u: remove it",
				      vmop_run_dir(), name, (unsigned)st.st_uid);
	return unlinkat(dir_fd, name, 0) < 0 ? vmop_error_os(errno, "%s/%s", vmop_run_dir(), name)
					     : NULL;
}

/* Bind fd so that only this user and root can ever connect. By descriptor: no path is
 * followed. */
static int bind_private(int fd, int dir_fd, const char *name)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int len = snprintf(address.sun_path, sizeof(address.sun_path), "/proc/self/fd/%d/%s",
			   dir_fd, name);
	if (len >= (int)sizeof(address.sun_path)) {
		errno = ENAMETOOLONG;
		return -1;
	}
	mode_t mask = umask(0177);
	int status = bind(fd, (const struct sockaddr *)&address, sizeof(address));
	umask(mask);
	return status;
}

static struct vmop_error *listen_at(int dir_fd, const char *name, int *ret)
{
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (fd < 0)
		return vmop_error_os(errno, "socket");
	struct vmop_error *err = clear_place(dir_fd, name);
	if (err)
		return err;
	if (bind_private(fd, dir_fd, name) < 0 || listen(fd, VMOP_CONTROL_MAX_CLIENTS) < 0)
		return vmop_error_os(errno, "%s/%s", vmop_run_dir(), name);
	*ret = vmop_steal_fd(&fd);
	return NULL;
}

struct vmop_error *vmop_control_create(sd_event *loop, int dir_fd, const char *name,
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
		.dir_fd = fcntl(dir_fd, F_DUPFD_CLOEXEC, 3),
		.fd = -1,
		.reserve = -1,
		.status_gid = (gid_t)-1,
	};
	fill_reserve(control);
	struct vmop_error *err =
		control->reserve < 0 ? vmop_error_os(errno, "%s", vmop_run_dir()) : NULL;
	if (!err)
		err = listen_at(control->dir_fd, name, &control->fd);
	if (!err && !(control->name = strdup(name)))
		err = &vmop_error_no_memory;
	int status = 0;
	if (!err)
		status = sd_event_add_io(loop, &control->listening, control->fd, EPOLLIN,
					 on_connection, control);
	/* Neither many connections nor a lack of descriptors may keep the loop busy. */
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
	if (control->name)
		unlinkat(control->dir_fd, control->name, 0);
	if (control->reserve >= 0)
		close(control->reserve);
	if (control->dir_fd >= 0)
		close(control->dir_fd);
	free(control->name);
	free(control);
}

/* Set the socket's group and mode through a descriptor of the socket. */
static bool set_access(const struct vmop_control *control, gid_t gid, mode_t mode)
{
	char link[32];
	struct stat st;
	_cleanup_close_ int fd =
		openat(control->dir_fd, control->name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISSOCK(st.st_mode))
		return false;
	if (gid != (gid_t)-1 && st.st_gid != gid &&
	    fchownat(fd, "", (uid_t)-1, gid, AT_EMPTY_PATH) < 0)
		return false;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	return chmod(link, mode) == 0;
}

void vmop_control_set_status_group(struct vmop_control *control, gid_t gid)
{
	control->status_gid = gid;
	bool is_set = gid == (gid_t)-1 ? set_access(control, gid, 0600)
				       : set_access(control, gid, 0660) ||
						 set_access(control, (gid_t)-1, 0666);
	if (!is_set)
		vmop_log_warning("%s/%s: its access rights can't be set", vmop_run_dir(),
				 control->name);
}
