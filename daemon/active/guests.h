// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The active guests of a session on a KVM host. Each one with a vmopd --active inside is
 * identified, and its agent samples with the host's events until the session ends. As long as an
 * agent does not sample, its guest is a passive one, with the same samples of the host as any
 * other.
 *
 * With active-samples = host, the agent does not sample: the host's samples of the guest's code are
 * copied and handed to it (handing.h), and it stores them with the tasks that it knows.
 *
 * Both sides' samples of the guest's code are stored; a report of both sessions leaves out the
 * host's (opreport/query/omission.h).
 */
#ifndef VMOP_DAEMON_ACTIVE_GUESTS_H
#define VMOP_DAEMON_ACTIVE_GUESTS_H

#include "daemon/guest/domain.h"
#include "daemon/guest/guests.h"
#include "daemon/guest/sample-copy.h"
#include "libutil/error.h"
#include "libutil/setup.h"

struct vmop_active_guests;

/* The events of samples that are handed over (hv-interface/handed/events.h). */
struct vmop_active_host_events {
	char *text;
	char *text_with_stacks; /* NULL: the host has no call stacks of guests */
};

/*
 * Begin to listen for agents. Their events are those of setup, as its user wrote them: a guest
 * without counters has its own substitute for "default". With host_events
 * the host's samples are handed over, and their events are these; NULL: the guests sample
 * themselves. Without vsock only guests with a port of virtio-serial are reached, which is logged.
 * VMOP_ERROR_BUSY: as vmop_active_vsock_listen(); VMOP_ERROR_LIMIT: too many events.
 */
struct vmop_error *vmop_active_guests_create(const struct vmop_setup *setup,
					     const struct vmop_active_host_events *host_events,
					     struct vmop_active_guests **ret);
/* The same with a listener that passes to *ret; -1: none. */
struct vmop_error *vmop_active_guests_create_over(const struct vmop_setup *setup,
						  const struct vmop_active_host_events *host_events,
						  int listener_fd, struct vmop_active_guests **ret);

/*
 * Return the receiver of copies of the guests' samples, which take is NULL if the guests sample
 * themselves. Valid as long as active.
 */
struct vmop_sample_copy vmop_active_guests_copy(struct vmop_active_guests *active);

/* Note that the source has delivered all samples before that time (CLOCK_MONOTONIC). */
void vmop_active_guests_complete(struct vmop_active_guests *active, uint64_t complete_ns);

/*
 * Begin to fetch the present sessions of all agents that sample (fetches.h). Does not wait; the
 * steps go on with it.
 */
void vmop_active_guests_fetch(struct vmop_active_guests *active);

/* Note that the host's session is left: vmop_fetches_leave_session. */
void vmop_active_guests_leave_session(struct vmop_active_guests *active, const char *path);

/*
 * Let all agents store their samples and end their sessions, and fetch these. Wait for both: at
 * most VMOP_ACTIVE_END_WAIT_NS, then twice VMOP_FETCHES_WAIT_NS, in parallel. Only the destruction
 * may follow.
 */
void vmop_active_guests_end(struct vmop_active_guests *active);
void vmop_active_guests_destroy(struct vmop_active_guests *active); /* NULL is allowed */

/*
 * Go on with connections, identities and agents, and note in the domains how they do. Call it about
 * ten times a second. Does not wait. guests reads the guests' memory; NULL: nothing is read now,
 * and no guest can be identified. time_ns: the session's time at 0 of CLOCK_MONOTONIC, modulo 2^64.
 */
#define VMOP_ACTIVE_STEP_NS (100 * VMOP_NS_PER_MS)
void vmop_active_guests_step(struct vmop_active_guests *active, struct vmop_domains *domains,
			     struct vmop_guests *guests, uint64_t time_ns);

#endif
