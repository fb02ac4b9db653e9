// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The control socket's language: one JSON object a line, UTF-8, over a
 * SOCK_STREAM Unix socket; a request, then its one reply, as often as the
 * client likes.
 *
 *	-> {"version": 1, "request": "status"}
 *	<- {"version": 1, "ok": true, ...}
 *	<- {"version": 1, "ok": false, "error": {"code": "cant", "message": "..."}}
 *
 * Unknown members are ignored, so that either side may be newer; another
 * version is refused.  Both sides treat what they read as hostile: a line has a
 * bound, and every wait has an end.
 */
#ifndef VMOP_LIBUTIL_PROTOCOL_H
#define VMOP_LIBUTIL_PROTOCOL_H

#include <jansson.h>
#include <stddef.h>

#include "libutil/error.h"

#define VMOP_PROTOCOL_VERSION 1
#define VMOP_PROTOCOL_MAX_LINE_BYTES 65536 /* with its newline */
#define VMOP_PROTOCOL_CONNECT_TIMEOUT_S 30

static inline void vmop_json_cleanup(json_t **json)
{
	json_decref(*json);
}

/* A request called name; the caller adds members. NULL: out of memory. */
json_t *vmop_protocol_request(const char *name);

/* A reply that says it was done; the caller adds members. NULL: out of memory. */
json_t *vmop_protocol_ok(void);

/* A reply that carries err (which stays the caller's). NULL: out of memory. */
json_t *vmop_protocol_failure(const struct vmop_error *err);

/* The error that a reply carries, with its code; NULL when it says ok. */
struct vmop_error *vmop_protocol_reply_error(const json_t *reply);

/* One line without its newline to an object whose version is ours. VMOP_ERROR_CORRUPT. */
struct vmop_error *vmop_protocol_decode(const char *line, size_t len_bytes, json_t **ret);

/* An object to one line with its newline; *ret is the caller's. VMOP_ERROR_LIMIT. */
struct vmop_error *vmop_protocol_encode(const json_t *message, char **ret, size_t *ret_len_bytes);

/*
 * The client's side, blocking.  Connects; *ret_fd is -1 without an error when
 * nobody listens at path (no such file, or a dead daemon's).
 */
struct vmop_error *vmop_protocol_connect(const char *path, int *ret_fd);

/*
 * Sends request and waits for its reply, at most timeout_s.  A reply that says
 * no is returned as the error it carries; *ret is the caller's.  VMOP_ERROR_BUSY: the daemon
 * closed the connection without a reply, because it is ending or was killed.
 */
struct vmop_error *vmop_protocol_call(int fd, const json_t *request, unsigned timeout_s,
				      json_t **ret);

#endif
