// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The active domains of an initiator's session together: what active-peer.h does for one, with
 * all of them at once.
 *
 * While Xen samples: want, until they are there; alert.  Then, between two of Xen's sessions, where
 * nobody is sampled and nothing is waited for that could have been done before: leave, put those
 * that are there on Xen's list, join, start, run.  At the end stop, leave, and only then empty the
 * list.
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
	/* Lines are to be on their way in ms, since somebody waits; or need not any more. */
	void (*hurry)(void *arg, bool is_on);
	void *arg;
};

/*
 * events, as OPEN has it, is copied.  VMOP_ERROR_LIMIT: it is longer than a message.  opener must
 * outlive the group.
 */
struct vmop_error *vmop_active_group_create(const struct vmop_active_opener *opener,
					    const char *events, struct vmop_active_group **ret);
void vmop_active_group_destroy(struct vmop_active_group *group); /* NULL is allowed */

enum vmop_active_presence {
	VMOP_ACTIVE_PROBED, /* whether its vmopd is there, and to open a session: no answer so far
			     */
	VMOP_ACTIVE_THERE,  /* it did, and can be put on Xen's list */
	VMOP_ACTIVE_ABSENT, /* no answer, or no more: it is asked again now and then */
};

/*
 * Which domains there are to be from now on.  Doesn't wait: those that are new are asked whether
 * they are there, those that are absent once more after a while, the longer the oftener they
 * failed; to be called again every second or so.  An error is about memory or the opener, and
 * changes nothing.
 */
struct vmop_error *vmop_active_group_want(struct vmop_active_group *group, const uint32_t *domains,
					  size_t n);

/*
 * Waits until each of them has answered, for VMOP_ACTIVE_HELLO_WAIT_NS and, where somebody is,
 * VMOP_ACTIVE_OPEN_WAIT_NS at the most.  The error is about the first that is absent.
 */
struct vmop_error *vmop_active_group_wait(struct vmop_active_group *group);

/* ABSENT also for one that was never wanted. */
enum vmop_active_presence vmop_active_group_presence(const struct vmop_active_group *group,
						     uint32_t domain);

/* One that is there takes no part in Xen's session under way: it is to be made anew. */
bool vmop_active_group_wants_join(const struct vmop_active_group *group);

/*
 * Xen's lists are about to change: waits until each that is in a session, or is to be, says that it
 * is at hand, VMOP_ACTIVE_ALERT_WAIT_NS at the most; the others are absent afterwards.
 * meanwhile(arg) is called some ten times a second.
 */
void vmop_active_group_alert(struct vmop_active_group *group, void (*meanwhile)(void *arg),
			     void *arg);

enum vmop_active_joined {
	VMOP_ACTIVE_ALL_READY,
	VMOP_ACTIVE_ONE_WAS_STUCK, /* empty the list, fill it, and join once more */
	VMOP_ACTIVE_ONE_IS_GONE,   /* the same, without those that are absent now */
};

/*
 * All that are there are on Xen's list.  Waits until each is ready, VMOP_ACTIVE_JOIN_WAIT_NS at the
 * most; unless all are, those that are have been told to pause.
 */
enum vmop_active_joined vmop_active_group_join(struct vmop_active_group *group);

/* The line about the next domain whose vmopd is gone, told once a time that it went; NULL: none. */
struct vmop_error *vmop_active_group_take_error(struct vmop_active_group *group);

/* Xen samples.  Doesn't wait. */
void vmop_active_group_run(struct vmop_active_group *group);

/* Every second or so in between; what it finds is vmop_active_group_take_error's. */
void vmop_active_group_check(struct vmop_active_group *group);

/*
 * Xen has stopped.  Waits for those that are still there to give back their buffers and, with
 * is_end, since it is the session's end and not just of one of Xen's, to store what they have.
 */
void vmop_active_group_leave(struct vmop_active_group *group, bool is_end);

/* What domain's own vmopd counts; 0: not known. */
uint64_t vmop_active_group_samples(const struct vmop_active_group *group, uint32_t domain);

#endif
