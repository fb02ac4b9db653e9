// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The active domains of an initiator's session together: what active-peer.h does for one, with
 * all of them at once, waiting where Xen can't go on without them (never while it samples).
 *
 * Between two of Xen's sessions: set, then put them on Xen's list, join, start, run; and at the
 * end stop, leave, and only then empty the list.
 */
#ifndef VMOP_HV_INTERFACE_ACTIVE_GROUP_H
#define VMOP_HV_INTERFACE_ACTIVE_GROUP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hv-interface/active-message.h"
#include "libutil/error.h"

struct vmop_active_group;

/* How a domain's store is had: xenstore, but for tests. */
struct vmop_active_opener {
	/* VMOP_ERROR_CANT: it can't be had, with what to do. */
	struct vmop_error *(*open)(void *arg, uint32_t domain, struct vmop_active_store **ret);
	void (*close)(void *arg, struct vmop_active_store *store);
	void *arg;
};

/* events, as JOIN has it, is copied and cut to fit. opener must outlive it. */
struct vmop_error *vmop_active_group_create(const struct vmop_active_opener *opener,
					    const char *events, struct vmop_active_group **ret);
void vmop_active_group_destroy(struct vmop_active_group *group); /* NULL is allowed */

/*
 * Which domains there are from now on.  Waits until those that are new have said that they
 * are there, or for VMOP_ACTIVE_HELLO_WAIT_NS; the first that did not is the error, and it and
 * all the others stay as they were.
 */
struct vmop_error *vmop_active_group_set(struct vmop_active_group *group, const uint32_t *domains,
					 size_t n);

/*
 * All are on Xen's list.  Waits until each is ready, VMOP_ACTIVE_WAIT_NS at the most.
 * *ret_again: one was stuck; empty the list, fill it, and join once more.
 */
struct vmop_error *vmop_active_group_join(struct vmop_active_group *group, bool *ret_again);

/* Xen samples.  Doesn't wait. */
void vmop_active_group_run(struct vmop_active_group *group);

/*
 * Every second or so in between.  The error is one line about a domain whose vmopd is gone, told
 * once a domain.
 */
struct vmop_error *vmop_active_group_check(struct vmop_active_group *group);

/*
 * Xen has stopped.  Waits for those that are still there to give back their buffers.  is_end: it
 * is the session's end, not just of one of Xen's.
 */
void vmop_active_group_leave(struct vmop_active_group *group, bool is_end);

/* What domain's own vmopd counts; 0: not known. */
uint64_t vmop_active_group_samples(const struct vmop_active_group *group, uint32_t domain);

#endif
