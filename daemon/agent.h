// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmopd --active: the daemon of a Xen domain that takes its own samples. The vmopd in dom0 commands
 * it through messages (hv-interface/active-agent.h), which it reads twice a second, and more often
 * while dom0 waits for an answer. Its own user enters no commands.
 */
#ifndef VMOP_DAEMON_AGENT_H
#define VMOP_DAEMON_AGENT_H

#include "daemon/requests.h"
#include "hv-interface/active-message.h"
#include "libutil/error.h"

struct vmop_agent;

/*
 * Create the agent of this domain. daemon must outlive the agent, which sets the events and the
 * source of daemon as dom0 commands. VMOP_ERROR_CANT: this domain can't be active, or xenstore is
 * not accessible.
 */
struct vmop_error *vmop_agent_create(struct vmop_daemon *daemon, struct vmop_agent **ret);

/*
 * Create an agent that uses the given store of lines, which must outlive it, and daemon's present
 * source, without a look at this domain. For tests.
 */
struct vmop_error *vmop_agent_create_over(struct vmop_daemon *daemon,
					  struct vmop_active_store *store, struct vmop_agent **ret);

/* Report the end of a running session to dom0 and free agent. NULL is allowed. */
void vmop_agent_destroy(struct vmop_agent *agent);

#endif
