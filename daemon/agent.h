// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmopd --active: the daemon of a guest that takes its own samples. The vmopd in Xen's dom0 or on
 * the KVM host commands it through messages (hv-interface/active-agent.h), which it reads twice a
 * second, and more often while an answer is awaited. Its own user enters no commands.
 */
#ifndef VMOP_DAEMON_AGENT_H
#define VMOP_DAEMON_AGENT_H

#include "daemon/requests.h"
#include "hv-interface/active-message.h"
#include "libutil/error.h"

struct vmop_agent;

/*
 * Create the agent of this guest. daemon must outlive the agent, which sets the events and the
 * source of daemon as the host commands. VMOP_ERROR_CANT: this guest can't be active, or the
 * channel to its host is not accessible.
 */
struct vmop_error *vmop_agent_create(struct vmop_daemon *daemon, struct vmop_agent **ret);

/*
 * Create an agent that uses the given store of lines, which must outlive it, and daemon's present
 * source, without a look at this domain. For tests.
 */
struct vmop_error *vmop_agent_create_over(struct vmop_daemon *daemon,
					  struct vmop_active_store *store, struct vmop_agent **ret);

/*
 * Create an agent that uses a link to its KVM host, which passes to *ret unless this fails. For
 * vmop_agent_create and tests.
 */
struct vmop_agent_link; /* active/agent-link.h */
struct vmop_error *vmop_agent_create_over_link(struct vmop_daemon *daemon,
					       struct vmop_agent_link *link,
					       struct vmop_agent **ret);

/* Report the end of a running session to the host and free agent. NULL is allowed. */
void vmop_agent_destroy(struct vmop_agent *agent);

#endif
