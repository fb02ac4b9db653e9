// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * dom0's part in fetching the sessions of active domains: asks their agents for windows
 * (window-line.h), and connects each with a fetch (daemon/active/fetches.h). All functions are for
 * the thread of the event loop, and only vmop_xen_fetching_end waits.
 */
#ifndef VMOP_DAEMON_XEN_FETCHING_H
#define VMOP_DAEMON_XEN_FETCHING_H

#include <stdbool.h>

#include "daemon/guest/domain.h"
#include "daemon/xen/grants.h"
#include "hv-interface/active-group.h"
#include "hv-interface/source.h"
#include "libutil/error.h"
#include "libutil/setup.h"

struct vmop_xen_fetching;

struct vmop_xen_fetching_options {
	const struct vmop_setup *setup;
	struct vmop_source *source;		  /* knows the agents that have a session */
	const struct vmop_active_opener *windows; /* of the domains' lines for windows */
	const struct vmop_grants_ops *grants;
};

/* source, windows and grants must outlive *ret. */
struct vmop_error *vmop_xen_fetching_create(const struct vmop_xen_fetching_options *options,
					    struct vmop_xen_fetching **ret);
/* Interrupt what goes on. NULL is allowed. */
void vmop_xen_fetching_destroy(struct vmop_xen_fetching *fetching);

/* Begin to fetch the present sessions of all active domains whose agents have one. */
void vmop_xen_fetching_begin(struct vmop_xen_fetching *fetching,
			     const struct vmop_domains *domains);

/*
 * Continue the fetches, and note their states in the domains. Return whether one goes on; then call
 * it again about ten times a second.
 */
bool vmop_xen_fetching_step(struct vmop_xen_fetching *fetching, const struct vmop_domains *domains);

/* Note that dom0's session is left: vmop_fetches_leave_session. */
void vmop_xen_fetching_leave_session(struct vmop_xen_fetching *fetching, const char *path);

/*
 * Fetch all sessions after their end, and wait for them: at most twice VMOP_FETCHES_WAIT_NS. The
 * source must have stopped.
 */
void vmop_xen_fetching_end(struct vmop_xen_fetching *fetching, const struct vmop_domains *domains);

#endif
