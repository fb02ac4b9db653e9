// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The reply to an "inspect" request: the kernel, modules and processes inside a guest.
 *
 *	-> {"request": "inspect", "domain": "web1", "from": 0}
 *	<- {"domain": {...}, "inside": {...}, "kernel": {...}, "running": [...],
 *	    "items": [...], "next": 120}
 *
 * The length of a reply is bounded (protocol.h), so modules and processes come in pages. "next" is
 * the "from" of the next page, or null after the last page.
 */
#ifndef VMOP_DAEMON_INSPECT_H
#define VMOP_DAEMON_INSPECT_H

#include <jansson.h>

#include "daemon/session.h"
#include "libguest/guest.h"
#include "libutil/error.h"

/* Make the members for texts and times that several replies have. */
void vmop_json_put_text(json_t *object, const char *name, const char *text);
void vmop_json_put_number(json_t *object, const char *name, uint64_t value);

/* Add "run_ns", "wait_ns", "runs", "user_ns" and "system_ns", null if they are not known. */
void vmop_json_put_account(json_t *object, const struct vmop_guest_account *account);

/* Summarise a guest's view for status and inspect. view is NULL if the guest was not read. */
json_t *vmop_inspect_summary(const struct vmop_guest_view *view);

/*
 * Add "inside", "kernel", "running", "items" and "next" to reply. The items begin with the given
 * one. They are at least one, and as many as fit into max_bytes of JSON. view is NULL if the guest
 * was not read.
 */
void vmop_inspect_put_view(json_t *reply, const struct vmop_guest_view *view, size_t from,
			   size_t max_bytes);

/* Fill in reply. VMOP_ERROR_NOT_FOUND: no such domain; the message lists the domains. */
struct vmop_error *vmop_inspect(const struct vmop_session *session, const json_t *request,
				json_t *reply);

#endif
