// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/protocol.h"

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>

#include "libutil/cleanup.h"
#include "libutil/json.h"

static const struct {
	enum vmop_error_code code;
	const char *word;
} code_words[] = {
	{VMOP_ERROR_NO_MEMORY, "no-memory"}, {VMOP_ERROR_USAGE, "usage"},
	{VMOP_ERROR_CANT, "cant"},	     {VMOP_ERROR_OS, "os"},
	{VMOP_ERROR_CORRUPT, "corrupt"},     {VMOP_ERROR_NEWER, "newer"},
	{VMOP_ERROR_NOT_FOUND, "not-found"}, {VMOP_ERROR_LIMIT, "limit"},
	{VMOP_ERROR_BUSY, "busy"},
};
#define N_CODES (sizeof(code_words) / sizeof(code_words[0]))

json_t *vmop_protocol_request(const char *name)
{
	return json_pack("{s:i, s:s}", "version", VMOP_PROTOCOL_VERSION, "request", name);
}

json_t *vmop_protocol_ok(void)
{
	return json_pack("{s:i, s:b}", "version", VMOP_PROTOCOL_VERSION, "ok", 1);
}

json_t *vmop_protocol_failure(const struct vmop_error *err)
{
	const char *word = "os";
	for (size_t i = 0; i < N_CODES; i++)
		if (code_words[i].code == err->code)
			word = code_words[i].word;
	/* A message can contain bytes of a path that are not UTF-8. */
	json_t *text = vmop_json_text(err->message);
	return json_pack("{s:i, s:b, s:{s:s, s:o*}}", "version", VMOP_PROTOCOL_VERSION, "ok", 0,
			 "error", "code", word, "message", text);
}

struct vmop_error *vmop_protocol_reply_error(const json_t *reply)
{
	if (json_is_true(json_object_get(reply, "ok")))
		return NULL;
	const json_t *error = json_object_get(reply, "error");
	const char *word = json_string_value(json_object_get(error, "code"));
	const char *message = json_string_value(json_object_get(error, "message"));
	enum vmop_error_code code = VMOP_ERROR_OS;
	for (size_t i = 0; i < N_CODES && word; i++)
		if (!strcmp(code_words[i].word, word))
			code = code_words[i].code;
	return vmop_error_new(code, "%s", message ? message : "the daemon gave no reason");
}

struct vmop_error *vmop_protocol_decode(const char *line, size_t len_bytes, json_t **ret)
{
	json_error_t cause;
	json_t *message = json_loadb(line, len_bytes, JSON_REJECT_DUPLICATES, &cause);
	if (!message)
		return vmop_error_new(VMOP_ERROR_CORRUPT, "not a line of JSON: %s", cause.text);
	const json_t *version = json_object_get(message, "version");
	struct vmop_error *err = NULL;
	if (!json_is_object(message))
		err = vmop_error_new(VMOP_ERROR_CORRUPT, "not a JSON object");
	else if (!json_is_integer(version))
		err = vmop_error_new(VMOP_ERROR_CORRUPT, "no protocol version");
	else if (json_integer_value(version) != VMOP_PROTOCOL_VERSION)
		err = vmop_error_new(VMOP_ERROR_NEWER,
				     "version %" JSON_INTEGER_FORMAT " of the control protocol; "
				     "this program speaks %d: restart vmopd after an upgrade",
				     json_integer_value(version), VMOP_PROTOCOL_VERSION);
	if (err) {
		json_decref(message);
		return err;
	}
	*ret = message;
	return NULL;
}

struct vmop_error *vmop_protocol_encode(const json_t *message, char **ret, size_t *ret_len_bytes)
{
	char *text = json_dumps(message, JSON_COMPACT);
	if (!text)
		return &vmop_error_no_memory;
	size_t len = strlen(text);
	if (len + 1 > VMOP_PROTOCOL_MAX_LINE_BYTES) {
		free(text);
		return vmop_error_new(VMOP_ERROR_LIMIT,
				      "a message of %zu bytes is too long; the limit is %d", len,
				      VMOP_PROTOCOL_MAX_LINE_BYTES);
	}
	text[len] = '\n'; /* replaces the NUL */
	*ret = text;
	*ret_len_bytes = len + 1;
	return NULL;
}

struct vmop_error *vmop_protocol_connect(const char *path, int *ret_fd)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	*ret_fd = -1;
	if (strlen(path) >= sizeof(address.sun_path))
		return vmop_error_new(VMOP_ERROR_USAGE, "%s: too long for a socket's path", path);
	strcpy(address.sun_path, path);
	_cleanup_close_ int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	/* connect(2) blocks while the queue of a listener that does not accept is full. */
	struct timeval limit = {.tv_sec = VMOP_PROTOCOL_CONNECT_TIMEOUT_S};
	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0)
		return vmop_error_os(errno, "socket");
	if (connect(fd, (const struct sockaddr *)&address, sizeof(address)) == 0)
		*ret_fd = vmop_steal_fd(&fd);
	else if (errno == EAGAIN || errno == EINPROGRESS)
		return vmop_error_new(VMOP_ERROR_CANT, "vmopd does not answer");
	else if (errno != ENOENT && errno != ECONNREFUSED)
		return vmop_error_os(errno, "%s", path);
	return NULL;
}

static struct vmop_error *send_line(int fd, const char *line, size_t len_bytes)
{
	while (len_bytes) {
		ssize_t n = send(fd, line, len_bytes, MSG_NOSIGNAL);
		if (n < 0 && errno == EINTR)
			continue;
		/*
		 * A daemon that refuses a client sends the reason and closes the connection: read
		 * that reply.
		 */
		if (n < 0 && (errno == EPIPE || errno == ECONNRESET))
			return NULL;
		if (n < 0)
			return vmop_error_os(errno, "to the daemon");
		line += n;
		len_bytes -= (size_t)n;
	}
	return NULL;
}

static struct vmop_error *receive_line(int fd, char *line, size_t *ret_len_bytes)
{
	size_t len = 0;
	for (;;) {
		ssize_t n = recv(fd, line + len, VMOP_PROTOCOL_MAX_LINE_BYTES - len, 0);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return vmop_error_new(VMOP_ERROR_CANT, "vmopd does not answer");
		if (n < 0 && errno != ECONNRESET)
			return vmop_error_os(errno, "from the daemon");
		if (n <= 0)
			return vmop_error_new(VMOP_ERROR_BUSY,
					      "vmopd closed the connection without a reply");
		const char *end = memchr(line + len, '\n', (size_t)n);
		len += (size_t)n;
		*ret_len_bytes = end ? (size_t)(end - line) : len;
		if (end)
			return NULL;
		if (len == VMOP_PROTOCOL_MAX_LINE_BYTES)
			return vmop_error_new(VMOP_ERROR_CORRUPT, "vmopd's reply is too long");
	}
}

static struct vmop_error *limit_waits(int fd, unsigned timeout_s)
{
	struct timeval limit = {.tv_sec = timeout_s};
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit)) < 0 ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit)) < 0)
		return vmop_error_os(errno, "setsockopt");
	return NULL;
}

struct vmop_error *vmop_protocol_ask(int fd, const json_t *request, unsigned timeout_s)
{
	_cleanup_free_ char *line = NULL;
	size_t len;
	struct vmop_error *err = limit_waits(fd, timeout_s);
	if (!err)
		err = vmop_protocol_encode(request, &line, &len);
	return err ? err : send_line(fd, line, len);
}

struct vmop_error *vmop_protocol_answer(int fd, unsigned timeout_s, json_t **ret)
{
	_cleanup_free_ char *answer = malloc(VMOP_PROTOCOL_MAX_LINE_BYTES);
	_cleanup_(vmop_json_cleanup) json_t *reply = NULL;
	size_t len;
	struct vmop_error *err = answer ? limit_waits(fd, timeout_s) : &vmop_error_no_memory;
	if (!err)
		err = receive_line(fd, answer, &len);
	if (!err)
		err = vmop_protocol_decode(answer, len, &reply);
	if (!err)
		err = vmop_protocol_reply_error(reply);
	if (!err)
		*ret = vmop_steal(&reply);
	return err;
}

struct vmop_error *vmop_protocol_call(int fd, const json_t *request, unsigned timeout_s,
				      json_t **ret)
{
	struct vmop_error *err = vmop_protocol_ask(fd, request, timeout_s);
	return err ? err : vmop_protocol_answer(fd, timeout_s, ret);
}
