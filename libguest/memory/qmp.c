// SPDX-License-Identifier: GPL-2.0-or-later
#include "libguest/memory/qmp.h"

#include <errno.h>
#include <jansson.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "libguest/memory/memory.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/error.h"
#include "libutil/io.h"

#define WAIT_MS 2000
#define MAX_EVENTS 64 /* asynchronous events between a command and its answer */

struct vmop_guest_qmp {
	int fd;
	uint64_t deadline_ms;
	size_t have;
	char path[108];
	char line[65536];
};

static uint64_t now_ms(void)
{
	return vmop_clock_ns(CLOCK_MONOTONIC) / VMOP_NS_PER_MS;
}

/* Read one line into qmp->line, without its end; it stays there until the next call. */
static struct vmop_error *read_line(struct vmop_guest_qmp *qmp, size_t *used)
{
	memmove(qmp->line, qmp->line + *used, qmp->have - *used);
	qmp->have -= *used;
	*used = 0;
	for (;;) {
		char *end = memchr(qmp->line, '\n', qmp->have);
		if (end) {
			*end = '\0';
			*used = (size_t)(end - qmp->line) + 1;
			return NULL;
		}
		uint64_t now = now_ms();
		struct pollfd poll_fd = {.fd = qmp->fd, .events = POLLIN};
		if (qmp->have == sizeof(qmp->line))
			return vmop_error_new(VMOP_ERROR_LIMIT, "%s: the answer is too long",
					      qmp->path);
		if (now >= qmp->deadline_ms ||
		    poll(&poll_fd, 1, (int)(qmp->deadline_ms - now)) <= 0)
			return vmop_error_new(
				VMOP_ERROR_CANT,
				"%s: no answer within %d ms; is another QMP client connected?",
				qmp->path, WAIT_MS);
		ssize_t got = recv(qmp->fd, qmp->line + qmp->have, sizeof(qmp->line) - qmp->have,
				   MSG_DONTWAIT);
		if (got < 0 && (errno == EAGAIN || errno == EINTR))
			continue;
		if (got <= 0)
			return vmop_error_os(got ? errno : ECONNRESET, "%s", qmp->path);
		qmp->have += (size_t)got;
	}
}

static void object_cleanup(json_t **object)
{
	json_decref(*object);
}

/* Send a command and set *ret to its "return" value, a reference that the caller drops. */
static struct vmop_error *command(struct vmop_guest_qmp *qmp, const char *text, json_t **ret)
{
	size_t len = strlen(text), used = 0;
	if (send(qmp->fd, text, len, MSG_NOSIGNAL) != (ssize_t)len)
		return vmop_error_os(errno, "%s", qmp->path);
	for (int i = 0; i < MAX_EVENTS; i++) {
		struct vmop_error *err = read_line(qmp, &used);
		if (err)
			return err;
		_cleanup_(object_cleanup) json_t *answer = json_loads(qmp->line, 0, NULL);
		json_t *value = json_object_get(answer, "return");
		if (value) {
			*ret = json_incref(value);
			memmove(qmp->line, qmp->line + used, qmp->have - used);
			qmp->have -= used;
			return NULL;
		}
		const char *reason = json_string_value(
			json_object_get(json_object_get(answer, "error"), "desc"));
		if (reason)
			return vmop_error_new(VMOP_ERROR_CANT, "%s: %s", qmp->path, reason);
	}
	return vmop_error_new(VMOP_ERROR_LIMIT, "%s: too many events", qmp->path);
}

static void qmp_cleanup(struct vmop_guest_qmp **qmp)
{
	vmop_guest_qmp_close(*qmp);
}

/* The path comes from a command line: send nothing to another process that listens there. */
static struct vmop_error *check_peer(const struct vmop_guest_qmp *qmp, pid_t vmm_pid)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);
	if (getsockopt(qmp->fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return vmop_error_os(errno, "%s", qmp->path);
	if (peer.pid != vmm_pid)
		return vmop_error_new(VMOP_ERROR_CANT,
				      "%s: process %d listens there instead of process %d",
				      qmp->path, (int)peer.pid, (int)vmm_pid);
	return NULL;
}

struct vmop_error *vmop_guest_qmp_open(pid_t vmm_pid, const char *socket_path,
				       struct vmop_guest_qmp **ret)
{
	_cleanup_(qmp_cleanup) struct vmop_guest_qmp *qmp = calloc(1, sizeof(*qmp));
	if (!qmp)
		return &vmop_error_no_memory;
	qmp->fd = -1;
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	if (strlen(socket_path) >= sizeof(address.sun_path))
		return vmop_error_new(VMOP_ERROR_USAGE, "%s: too long for a socket", socket_path);
	strcpy(address.sun_path, socket_path);
	strcpy(qmp->path, socket_path);
	qmp->fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (qmp->fd < 0 || connect(qmp->fd, (struct sockaddr *)&address, sizeof(address)) < 0)
		return vmop_error_os(errno, "%s", socket_path);
	struct vmop_error *err = check_peer(qmp, vmm_pid);
	if (err)
		return err;
	qmp->deadline_ms = now_ms() + WAIT_MS;
	json_t *answer;
	err = command(qmp, "{\"execute\":\"qmp_capabilities\"}\n", &answer);
	if (err)
		return err;
	json_decref(answer);
	*ret = vmop_steal(&qmp);
	return NULL;
}

void vmop_guest_qmp_close(struct vmop_guest_qmp *qmp)
{
	if (!qmp)
		return;
	vmop_cleanup_close(&qmp->fd);
	free(qmp);
}

struct vmop_error *vmop_guest_qmp_host_address(struct vmop_guest_qmp *qmp, uint64_t gpa,
					       uint64_t *ret)
{
	char text[160];
	snprintf(text, sizeof(text),
		 "{\"execute\":\"human-monitor-command\",\"arguments\":"
		 "{\"command-line\":\"gpa2hva 0x%llx\"}}\n",
		 (unsigned long long)gpa);
	_cleanup_(object_cleanup) json_t *answer = NULL;
	struct vmop_error *err = command(qmp, text, &answer);
	if (err)
		return err;
	/* the answer is "Host virtual address for 0x0 (pc.ram) is 0x7f...", or an error text */
	const char *hit =
		json_is_string(answer) ? strstr(json_string_value(answer), " is 0x") : NULL;
	unsigned long long hva;
	*ret = hit && sscanf(hit, " is %llx", &hva) == 1 ? hva : VMOP_GUEST_NO_ADDRESS;
	return NULL;
}
