// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What vmopd knows of the inside of a guest: the reply to an "inspect" request.
 *
 *	-> {"request": "inspect", "domain": "web1", "from": 0}
 *	<- {"domain": {...}, "inside": {...}, "kernel": {...}, "running": [...],
 *	    "items": [...], "next": 120}
 *
 * A reply has a bound (protocol.h), so modules and processes come in pages: "next" is
 * the "from" of the following one, null at the end.
 */
#ifndef VMOP_DAEMON_INSPECT_H
#define VMOP_DAEMON_INSPECT_H

#include <jansson.h>

#include "daemon/session.h"
#include "libutil/error.h"

/* The members of the words and times common to replies. */
void vmop_json_put_text(json_t *object, const char *name, const char *text);
void vmop_json_put_number(json_t *object, const char *name, uint64_t value);

/* What a guest's view says in short, for status and inspect; NULL view: not looked at. */
json_t *vmop_inspect_summary(const struct vmop_guest_view *view);

/*
 * Adds "inside", "kernel", "running", "items" and "next" to reply: the items from the given one on
 * that fit into max_bytes of JSON, and at least one.  NULL view: not looked at.
 */
void vmop_inspect_put_view(json_t *reply, const struct vmop_guest_view *view, size_t from,
			   size_t max_bytes);

/* Adds to reply. VMOP_ERROR_NOT_FOUND: no such domain; it names those there are. */
struct vmop_error *vmop_inspect(const struct vmop_session *session, const json_t *request,
				json_t *reply);

#endif
