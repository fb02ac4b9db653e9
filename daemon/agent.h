// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmopd --active: the daemon of a domain that Xen lets take its own samples.  It begins and ends
 * sessions when the vmopd in dom0 says so (hv-interface/active-agent.h), twice a second looking
 * what that says, and more often while dom0 waits for it; the user types nothing here.
 */
#ifndef VMOP_DAEMON_AGENT_H
#define VMOP_DAEMON_AGENT_H

#include "daemon/requests.h"
#include "hv-interface/active-message.h"
#include "libutil/error.h"

struct vmop_agent;

/*
 * VMOP_ERROR_CANT: this is no domain that can be active, or xenstore can't be had.  daemon must
 * outlive it and is its own from now on: its events and its source are dom0's to say.
 */
struct vmop_error *vmop_agent_create(struct vmop_daemon *daemon, struct vmop_agent **ret);

/*
 * The same over a store of lines, which must outlive it, and the source that daemon has: this
 * domain is not looked at (for tests).
 */
struct vmop_error *vmop_agent_create_over(struct vmop_daemon *daemon,
					  struct vmop_active_store *store, struct vmop_agent **ret);

/* dom0 hears of it, if a session was under way; NULL is allowed. */
void vmop_agent_destroy(struct vmop_agent *agent);

#endif
