// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/context/request-limits.h"

#include <string.h>

#include "daemon/guest/context/serve.h"
#include "libutil/clock.h"

/*
 * Requests about contexts of one guest that are served in a second, and at once. They do not count
 * against the budget of CPU time, because they cannot wait: a page's file can be gone soon.
 */
#define REQUESTS_A_SECOND 300
#define REQUESTS_AT_ONCE 600

/* Return whether a guest has room for one more request in this second, and use it up. */
static bool use_room(struct vmop_guest_request_limits *limits, uint64_t now_ns)
{
	static const uint64_t share_ns = VMOP_NS_PER_S / REQUESTS_A_SECOND;
	uint64_t most_ns = REQUESTS_AT_ONCE * share_ns;
	limits->room_ns += now_ns - limits->earned_ns;
	limits->earned_ns = now_ns;
	if (limits->room_ns > most_ns)
		limits->room_ns = most_ns;
	if (limits->room_ns < share_ns)
		return false;
	limits->room_ns -= share_ns;
	return true;
}

/* Return whether the symbols of the deleted file with this page were read. */
static bool has_read_deleted(const struct vmop_guest_request_limits *limits,
			     struct vmop_guest_page_key page)
{
	page.index = 0;
	for (unsigned i = 0; i < VMOP_GUEST_DELETED_FILES; i++) {
		if (!memcmp(&limits->deleted[i], &page, sizeof(page)))
			return true;
	}
	return false;
}

static void remember_deleted(struct vmop_guest_request_limits *limits,
			     struct vmop_guest_page_key page)
{
	page.index = 0;
	limits->deleted[limits->n_deleted++ % VMOP_GUEST_DELETED_FILES] = page;
}

void vmop_guest_serve_limited(struct vmop_guest_request_limits *limits, struct vmop_guest *guest,
			      const struct vmop_guest_request *request, uint64_t now_ns,
			      struct vmop_guest_answer *ret)
{
	if (!use_room(limits, now_ns)) {
		*ret = (struct vmop_guest_answer){.request = *request, .is_refused = true};
		return;
	}
	struct vmop_guest_request once = *request;
	bool is_page = request->kind == VMOP_GUEST_REQUEST_FILE;
	if (is_page)
		once.page.wants_symbols = !has_read_deleted(limits, request->page.key);
	vmop_guest_serve(guest, &once, ret);
	if (is_page && ret->symtab)
		remember_deleted(limits, request->page.key);
}
