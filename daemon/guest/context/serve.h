// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Answers requests about contexts (requests.h) from the guest's memory. The work of a request is
 * bounded by libguest's budget and libsym's.
 *
 * Thread: that of the vmop_guest.
 */
#ifndef VMOP_DAEMON_GUEST_CONTEXT_SERVE_H
#define VMOP_DAEMON_GUEST_CONTEXT_SERVE_H

#include "daemon/guest/context/requests.h"

/*
 * Set *ret to the answer, which the caller owns. guest: its kernel is known, and is that of the
 * request.
 */
void vmop_guest_serve(struct vmop_guest *guest, const struct vmop_guest_request *request,
		      struct vmop_guest_answer *ret);

#endif
