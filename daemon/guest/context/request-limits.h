// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Bounds the work that requests about the contexts of one guest cause: their rate, and the symbols
 * of deleted files.
 *
 * Thread: that of the vmop_guest.
 */
#ifndef VMOP_DAEMON_GUEST_CONTEXT_REQUEST_LIMITS_H
#define VMOP_DAEMON_GUEST_CONTEXT_REQUEST_LIMITS_H

#include <stdint.h>

#include "daemon/guest/context/page-key.h"
#include "daemon/guest/context/requests.h"

/* Deleted files of a guest whose symbols were read: they are not read for each of their pages. */
#define VMOP_GUEST_DELETED_FILES 16

/* Zeroed: of a guest without requests. */
struct vmop_guest_request_limits {
	uint64_t room_ns;   /* time that requests may use up, each its share */
	uint64_t earned_ns; /* when room was last added */
	struct vmop_guest_page_key deleted[VMOP_GUEST_DELETED_FILES]; /* index 0 in all; a ring */
	unsigned n_deleted;					      /* written in all */
};

/*
 * Set *ret to the answer, as vmop_guest_serve(), or to a refusal: too many requests came in this
 * second. now_ns: CLOCK_MONOTONIC.
 */
void vmop_guest_serve_limited(struct vmop_guest_request_limits *limits, struct vmop_guest *guest,
			      const struct vmop_guest_request *request, uint64_t now_ns,
			      struct vmop_guest_answer *ret);

#endif
