// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A xenstored for tests.  libxenstore finds its socket by the environment.  It has the domains of a
 * machine and the lines of active ones, and it can fail in ways that a real one rarely does.
 */
#ifndef VMOP_TEST_DAEMON_XENSTORED_H
#define VMOP_TEST_DAEMON_XENSTORED_H

#include <cmocka.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <xen/io/xs_wire.h>

#define MAX_DOMAINS 40

/* ---- a xenstored ---------------------------------------------------------------- */

static struct {
	pthread_t thread;
	pthread_mutex_t lock;
	int listener;
	bool is_silent, is_ending;
	size_t n;
	struct entry {
		char id[16], name[600], vm[128], type[8];
	} domains[MAX_DOMAINS];
	unsigned listed; /* how often the domains were listed */
	/* Other nodes that were written. */
	size_t n_nodes;
	struct node {
		char path[64], value[4096];
		size_t len;
	} nodes[8];
	unsigned conflicts; /* how many of the next transactions fail with a conflict */
	unsigned writes;
} xenstored = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Return a node that each domain has from the beginning.  "domid" is absent: it comes later. */
static const char *value_at(const char *path)
{
	for (size_t i = 0; i < xenstored.n; i++) {
		const struct entry *domain = &xenstored.domains[i];
		char wanted[64];
		snprintf(wanted, sizeof(wanted), "/local/domain/%s/name", domain->id);
		if (!strcmp(path, wanted))
			return domain->name;
		snprintf(wanted, sizeof(wanted), "/local/domain/%s/vm", domain->id);
		if (!strcmp(path, wanted))
			return domain->vm;
		snprintf(wanted, sizeof(wanted), "/libxl/%s/type", domain->id);
		if (!strcmp(path, wanted))
			return *domain->type ? domain->type : NULL;
	}
	return NULL;
}

static struct node *node_at(const char *path)
{
	for (size_t i = 0; i < xenstored.n_nodes; i++)
		if (!strcmp(xenstored.nodes[i].path, path))
			return &xenstored.nodes[i];
	return NULL;
}

/* Write a node, for a test or a client. */
static void put_node(const char *path, const char *value, size_t len)
{
	struct node *node = node_at(path);
	if (!node && xenstored.n_nodes < 8)
		node = &xenstored.nodes[xenstored.n_nodes++];
	if (!node || len > sizeof(node->value))
		abort();
	snprintf(node->path, sizeof(node->path), "%.63s", path);
	memcpy(node->value, value, len);
	node->len = len;
}

static uint32_t put_reply(char *buf, size_t size, const char *text)
{
	return (uint32_t)snprintf(buf, size, "%s", text) + 1;
}

/* Serve a write, whose value follows the NUL of path, or a transaction. Returns the reply's length.
 */
static uint32_t serve_write(const struct xsd_sockmsg *request, const char *path, char *buf,
			    size_t size, uint32_t *ret_type)
{
	size_t path_bytes = strlen(path) + 1;
	switch (request->type) {
	case XS_WRITE:
		put_node(path, path + path_bytes, request->len - path_bytes);
		xenstored.writes++;
		return put_reply(buf, size, "OK");
	case XS_TRANSACTION_START:
		return put_reply(buf, size, "7");
	case XS_TRANSACTION_END:
		if (strcmp(path, "T") != 0 || !xenstored.conflicts)
			return put_reply(buf, size, "OK");
		xenstored.conflicts--;
		*ret_type = XS_ERROR;
		return put_reply(buf, size, "EAGAIN");
	default:
		*ret_type = XS_ERROR;
		return put_reply(buf, size, "ENOENT");
	}
}

/* Put the reply to a request into buf. Returns its length. */
static uint32_t answer(const struct xsd_sockmsg *request, const char *path, char *buf, size_t size,
		       uint32_t *ret_type)
{
	uint32_t len = 0;
	*ret_type = request->type;
	if (request->type == XS_DIRECTORY && !strcmp(path, "/local/domain")) {
		len = (uint32_t)snprintf(buf, size, "0") + 1;
		for (size_t i = 0; i < xenstored.n; i++)
			len += (uint32_t)snprintf(buf + len, size - len, "%s",
						  xenstored.domains[i].id) +
			       1;
		xenstored.listed++;
		return len;
	}
	const char *value = request->type == XS_READ ? value_at(path) : NULL;
	if (value && *value)
		return (uint32_t)snprintf(buf, size, "%s", value);
	const struct node *node = request->type == XS_READ ? node_at(path) : NULL;
	if (!node)
		return serve_write(request, path, buf, size, ret_type);
	memcpy(buf, node->value, node->len);
	return (uint32_t)node->len;
}

static bool serve_one(int fd)
{
	struct xsd_sockmsg request;
	char path[4096] = "", buf[8192];
	if (recv(fd, &request, sizeof(request), MSG_WAITALL) != sizeof(request) ||
	    request.len >= sizeof(path) ||
	    recv(fd, path, request.len, MSG_WAITALL) != (ssize_t)request.len)
		return false;
	pthread_mutex_lock(&xenstored.lock);
	uint32_t type, len = answer(&request, path, buf, sizeof(buf), &type);
	bool is_silent = xenstored.is_silent;
	pthread_mutex_unlock(&xenstored.lock);
	struct xsd_sockmsg reply = {
		.type = type, .req_id = request.req_id, .tx_id = request.tx_id, .len = len};
	return is_silent || (send(fd, &reply, sizeof(reply), MSG_NOSIGNAL) == sizeof(reply) &&
			     send(fd, buf, len, MSG_NOSIGNAL) == (ssize_t)len);
}

static void *serve(void *arg)
{
	struct pollfd fds[16] = {{.fd = xenstored.listener, .events = POLLIN}};
	nfds_t n = 1;
	(void)arg;
	while (poll(fds, n, -1) > 0 && !xenstored.is_ending) {
		for (nfds_t i = 1; i < n; i++) {
			if (fds[i].revents && !serve_one(fds[i].fd)) {
				close(fds[i].fd);
				fds[i--] = fds[--n];
			}
		}
		if (fds[0].revents & POLLIN && n < 16)
			fds[n++] = (struct pollfd){.fd = accept(xenstored.listener, NULL, NULL),
						   .events = POLLIN};
	}
	for (nfds_t i = 1; i < n; i++)
		close(fds[i].fd);
	return NULL;
}

static inline void xenstored_start(const char *folder)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/xenstored", folder);
	xenstored.n = xenstored.n_nodes = 0;
	xenstored.conflicts = xenstored.writes = 0;
	xenstored.is_silent = xenstored.is_ending = false;
	xenstored.listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(xenstored.listener, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(xenstored.listener, 8), 0);
	assert_int_equal(setenv("XENSTORED_PATH", address.sun_path, 1), 0);
	assert_int_equal(pthread_create(&xenstored.thread, NULL, serve, NULL), 0);
}

static inline void xenstored_stop(const char *folder)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	snprintf(address.sun_path, sizeof(address.sun_path), "%s/xenstored", folder);
	xenstored.is_ending = true;
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); /* wakes the thread */
	assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	pthread_join(xenstored.thread, NULL);
	close(fd);
	close(xenstored.listener);
}

/* Put a domain.  Without a type it is under construction, and each listing reads it again. */
static inline void put_domain(size_t at, const char *id, const char *name, const char *uuid,
			      const char *type)
{
	struct entry *domain = &xenstored.domains[at];
	pthread_mutex_lock(&xenstored.lock);
	snprintf(domain->id, sizeof(domain->id), "%s", id);
	snprintf(domain->name, sizeof(domain->name), "%s", name);
	snprintf(domain->vm, sizeof(domain->vm), "%s%s", *uuid == '/' ? "" : "/vm/", uuid);
	snprintf(domain->type, sizeof(domain->type), "%s", type);
	if (xenstored.n <= at)
		xenstored.n = at + 1;
	pthread_mutex_unlock(&xenstored.lock);
}

static inline void drop_last_domain(void)
{
	pthread_mutex_lock(&xenstored.lock);
	xenstored.n--;
	pthread_mutex_unlock(&xenstored.lock);
}

#endif
