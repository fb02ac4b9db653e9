// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * All active domains of an initiator's session, driven together. active-peer.h drives each of them.
 *
 * While Xen samples: call want until the domains are present, then alert. Xen samples no domain
 * between two of its sessions, so only the steps that need this happen there: leave, put the
 * present domains on Xen's list, join, start, run. At the end: stop, leave, and only then empty the
 * list.
 *
 * The xen source is the caller. One thread.
 */
#ifndef VMOP_HV_INTERFACE_ACTIVE_GROUP_H
#define VMOP_HV_INTERFACE_ACTIVE_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hv-interface/active-message.h"
#include "libutil/error.h"

struct vmop_active_group;

/* Access to a domain's store. The real one is xenstore; tests have their own. */
struct vmop_active_opener {
	/*
	 * Open the store of a domain. VMOP_ERROR_CANT: it is not accessible; the message has the
	 * remedy.
	 */
	struct vmop_error *(*open)(void *arg, uint32_t domain, struct vmop_active_store **ret);
	void (*close)(void *arg, struct vmop_active_store *store);
	/* Deliver lines within ms while is_on is true, because the caller waits. */
	void (*hurry)(void *arg, bool is_on);
	void *arg;
	/*
	 * Write the name by which messages call a domain. NULL: its number, because xl always
	 * accepts that.
	 */
	void (*name)(void *arg, uint32_t domain, char *buf, size_t size);
	/*
	 * Write the domain's UUID for its agent, "" if it is not known. NULL: the domain has it
	 * from elsewhere.
	 */
	void (*uuid)(void *arg, uint32_t domain, char *buf, size_t size);
};

/*
 * Create a group without members. Copy events, the text of OPEN. opener must outlive the group.
 * VMOP_ERROR_LIMIT: events is longer than a message.
 */
struct vmop_error *vmop_active_group_create(const struct vmop_active_opener *opener,
					    const char *events, struct vmop_active_group **ret);
void vmop_active_group_destroy(struct vmop_active_group *group); /* NULL is allowed */

/*
 * Let each agent run as soon as it has answered, because it has a source of its own (KVM) and no
 * hypervisor's list: want, check and leave do all that is necessary, and an agent that is THERE
 * samples. Call it before the first want.
 */
void vmop_active_group_set_independent(struct vmop_active_group *group);

/*
 * Copy the text of OPEN for agents that take samples with call stacks. Call it before the first
 * want. VMOP_ERROR_LIMIT: it is longer than a message.
 */
struct vmop_error *vmop_active_group_set_stacks(struct vmop_active_group *group,
						const char *events);

enum vmop_active_presence {
	VMOP_ACTIVE_PROBED, /* HELLO or OPEN was sent and not answered yet */
	VMOP_ACTIVE_THERE,  /* it has a session open and can be put on Xen's list */
	VMOP_ACTIVE_ABSENT, /* no answer, or no longer any; probed again from time to time */
};

/*
 * Set the wanted domains. Does not wait: probes new ones now, and absent ones again after a pause
 * that grows with each failure. Call it every second. An error concerns memory or the opener; the
 * set of domains is unchanged then.
 */
struct vmop_error *vmop_active_group_want(struct vmop_active_group *group, const uint32_t *domains,
					  size_t n);

/*
 * Wait until each probed domain has answered: at most VMOP_ACTIVE_HELLO_WAIT_NS and, where an agent
 * is present, VMOP_ACTIVE_OPEN_WAIT_NS. Return the error of the first absent domain, or NULL.
 */
struct vmop_error *vmop_active_group_wait(struct vmop_active_group *group);

/* Return a domain's presence: ABSENT also if it was never wanted. */
enum vmop_active_presence vmop_active_group_presence(const struct vmop_active_group *group,
						     uint32_t domain);

/* Return whether a domain's agent can take samples with call stacks (VMOP_ACTIVE_TAKES_STACKS). */
bool vmop_active_group_takes_stacks(const struct vmop_active_group *group, uint32_t domain);
/* Return whether a domain's agent got that text, so that its session has call stacks. */
bool vmop_active_group_has_stacks(const struct vmop_active_group *group, uint32_t domain);

/*
 * Return whether a present and wanted domain is missing from Xen's current session, so that Xen
 * needs a new one.
 */
bool vmop_active_group_wants_join(const struct vmop_active_group *group);

/*
 * Announce that Xen's lists are about to change. Wait until each open agent has answered, at most
 * VMOP_ACTIVE_ALERT_WAIT_NS; agents that do not answer become absent. Call meanwhile(arg) about ten
 * times a second.
 */
void vmop_active_group_alert(struct vmop_active_group *group, void (*meanwhile)(void *arg),
			     void *arg);

enum vmop_active_joined {
	VMOP_ACTIVE_ALL_READY,
	VMOP_ACTIVE_ONE_WAS_STUCK, /* empty Xen's list, fill it and join again */
	VMOP_ACTIVE_ONE_IS_GONE,   /* the same, without the absent ones */
};

/*
 * Send JOIN to all present domains, which must be on Xen's list. Wait until each is ready, at most
 * VMOP_ACTIVE_JOIN_WAIT_NS. Unless all are ready, send a pause to those that are.
 */
enum vmop_active_joined vmop_active_group_join(struct vmop_active_group *group);

/*
 * Return the line about the next domain whose agent has disappeared, once for each time; NULL: no
 * such domain. The caller owns the error.
 */
struct vmop_error *vmop_active_group_take_error(struct vmop_active_group *group);

/* Announce that Xen samples. Does not wait. */
void vmop_active_group_run(struct vmop_active_group *group);

/*
 * Read the agents' state; call it every second while Xen samples. vmop_active_group_take_error
 * returns the losses that it finds.
 */
void vmop_active_group_check(struct vmop_active_group *group);

/*
 * Wait, after Xen has stopped, until the agents have given back their buffers. With is_end the
 * whole session ends, not just one of Xen's: wait also until they have stored their samples.
 */
void vmop_active_group_leave(struct vmop_active_group *group, bool is_end);

/* Return the random number that identifies the initiator's session; not 0. */
uint64_t vmop_active_group_token(const struct vmop_active_group *group);

/* Return the number of samples that a domain's agent reports; 0: not known. */
uint64_t vmop_active_group_samples(const struct vmop_active_group *group, uint32_t domain);

/*
 * Set *ret to the last report of a domain's agent, and return when it came (CLOCK_MONOTONIC); 0:
 * none has come with times.
 */
uint64_t vmop_active_group_report(const struct vmop_active_group *group, uint32_t domain,
				  struct vmop_active_report *ret);

#endif
