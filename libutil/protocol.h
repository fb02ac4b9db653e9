// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The protocol of the control socket: one JSON object per line, UTF-8, over a SOCK_STREAM Unix
 * socket.  Each request has one reply; a client may send any number of requests.
 * 	-> {"version": 1, "request": "status"}
 * 	<- {"version": 1, "ok": true, ...}
 * 	<- {"version": 1, "ok": false, "error": {"code": "cant", "message": "..."}}
 * Unknown members are ignored, so that either side may be newer.  Another version is refused.
 * Both sides treat their input as hostile: the length of a line and every wait are bounded.
 */
#ifndef VMOP_LIBUTIL_PROTOCOL_H
#define VMOP_LIBUTIL_PROTOCOL_H

#include <jansson.h>
#include <stddef.h>

#include "libutil/error.h"

#define VMOP_PROTOCOL_VERSION 1
#define VMOP_PROTOCOL_MAX_LINE_BYTES 65536 /* including the newline */
#define VMOP_PROTOCOL_CONNECT_TIMEOUT_S 30

static inline void vmop_json_cleanup(json_t **json)
{
	json_decref(*json);
}

/* Make a request called name; the caller adds members. NULL: out of memory. */
json_t *vmop_protocol_request(const char *name);

/* Make a reply that reports success; the caller adds members. NULL: out of memory. */
json_t *vmop_protocol_ok(void);

/* Make a reply that carries err, which the caller still owns. NULL: out of memory. */
json_t *vmop_protocol_failure(const struct vmop_error *err);

/* Return the error that a reply carries, with its code, or NULL if the reply reports success. */
struct vmop_error *vmop_protocol_reply_error(const json_t *reply);

/* Parse a line without its newline as an object of this version. VMOP_ERROR_CORRUPT otherwise. */
struct vmop_error *vmop_protocol_decode(const char *line, size_t len_bytes, json_t **ret);

/*
 * Format an object as a line with its newline; the caller frees *ret. VMOP_ERROR_LIMIT if the line
 * is too long.
 */
struct vmop_error *vmop_protocol_encode(const json_t *message, char **ret, size_t *ret_len_bytes);

/*
 * Connect to the socket at path and make the descriptor blocking: the client's side. *ret_fd is -1
 * without an error if no process listens there (no such file, or the file of a dead daemon).
 */
struct vmop_error *vmop_protocol_connect(const char *path, int *ret_fd);

/*
 * Send request and wait for its reply, at most timeout_s. The caller owns *ret. An error that the
 * reply carries is returned as an error. VMOP_ERROR_BUSY: the daemon closed the connection without
 * a reply, because it is ending or was killed.
 */
struct vmop_error *vmop_protocol_call(int fd, const json_t *request, unsigned timeout_s,
				      json_t **ret);

/* Do the two halves of vmop_protocol_call. A failed first half needs no second one. */
struct vmop_error *vmop_protocol_ask(int fd, const json_t *request, unsigned timeout_s);
struct vmop_error *vmop_protocol_answer(int fd, unsigned timeout_s, json_t **ret);

#endif
