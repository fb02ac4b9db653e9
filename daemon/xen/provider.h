// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * daemon/xen/: the domains of a machine that runs Xen.  There are two providers: one for samples
 * that Xen takes, in dom0 and in an active domU, and one for a dom0 where only perf samples.
 *
 * Callers: daemon/provider-list.c lists the two providers.  daemon/agent.c uses agent-messages.h
 * and window-server.h, daemon/session.c and its siblings agent-messages.h and fetching.h.  Nothing
 * else enters this folder.
 *
 * Data meets the files in this order:
 *	provider.h	finds the owner of each sample
 *	domains.h	maps Xen's ids to domains of the session
 *	xenstore.h	a thread that lists Xen's domains with name, uuid and type
 *	guests.h	selects domains by the list, and sets them in the source
 *	symbols.h	reads the hypervisor's symbols, once
 *	agent-messages.h	messages between the initiator and the agents of active domains
 * A session of an active domain comes to dom0 by these:
 *	fetching.h	dom0: asks for it, and passes it to daemon/active/fetches.h
 *	window-server.h	agent: answers, and passes it from daemon/active/session-server.h
 *	window-line.h	their two lines
 *	carrier.h	the thread of either side that carries the bytes
 *	window.h	how these pass through shared memory
 *	grants.h	the memory
 */
#ifndef VMOP_DAEMON_XEN_PROVIDER_H
#define VMOP_DAEMON_XEN_PROVIDER_H

#include "daemon/guest/provider.h"

extern const struct vmop_domain_provider_ops vmop_xen_provider_ops;
extern const struct vmop_domain_provider_ops vmop_dom0_provider_ops;

#endif
