// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The sessions of all active guests that a host's session fetches (fetch.h), each to a file of its
 * own. Logs how each fetch ended. All functions are for the thread of the event loop, and only
 * vmop_fetches_wait waits.
 */
#ifndef VMOP_DAEMON_ACTIVE_FETCHES_H
#define VMOP_DAEMON_ACTIVE_FETCHES_H

#include <stdbool.h>
#include <stdint.h>

#include "libutil/clock.h"
#include "libutil/error.h"
#include "libutil/setup.h"

struct vmop_fetches;

/*
 * Each call of dial connects to a guest: vmop_active_vsock_dial_guest, which tests replace. NULL:
 * all guests come with a connection.
 */
struct vmop_error *vmop_fetches_create(const struct vmop_setup *setup, int (*dial)(uint32_t cid),
				       struct vmop_fetches **ret);
/* Interrupt what goes on. NULL is allowed. */
void vmop_fetches_destroy(struct vmop_fetches *fetches);

/* Note whether the host's session has the UUID of its machine. */
void vmop_fetches_set_host(struct vmop_fetches *fetches, bool has_uuid);

/* A guest whose agent has a session. */
struct vmop_fetched_guest {
	uint32_t vmm_pid;
	uint32_t cid;	/* 0: it has no vsock */
	int fd;		/* then: the connection to it, which passes to fetches; -1: none now */
	int pidfd;	/* of the VMM; not owned; -1: none, of Xen or for tests */
	bool is_of_xen; /* vmm_pid is the domain's id, and pidfd and cid are none */
	uint64_t token; /* of the initiator's session */
	const char *name, *uuid;
	const struct vmop_db_clock *clock; /* of its session; NULL: not known */
};
/* Begin to fetch the guest's session, unless the set-up wants none or a fetch of it goes on. */
void vmop_fetches_begin(struct vmop_fetches *fetches, const struct vmop_fetched_guest *guest);

/*
 * Note that the host's session is now at path, or, if path is NULL, that it was discarded, and that
 * another one has its name. What is being fetched belongs to the former one: it comes beside it, or
 * not at all.
 */
void vmop_fetches_leave_session(struct vmop_fetches *fetches, const char *path);

/* Log the fetches that ended. Return whether one goes on. */
bool vmop_fetches_step(struct vmop_fetches *fetches);

/*
 * Wait until no fetch goes on, at most VMOP_FETCHES_WAIT_NS: a transfer, and some time for checks.
 * Then interrupt the rest. go_on is called again and again, for the connections that are not the
 * fetches'; NULL: there are none.
 */
#define VMOP_FETCHES_WAIT_NS (75 * VMOP_NS_PER_S)
void vmop_fetches_wait(struct vmop_fetches *fetches, void (*go_on)(void *arg), void *arg);

enum vmop_fetches_state {
	VMOP_FETCHES_NONE, /* none was begun */
	VMOP_FETCHES_GOES_ON,
	VMOP_FETCHES_DONE,
	VMOP_FETCHES_FAILED,
};
/* Return the state of the last fetch of a guest, by the pid of its VMM. */
enum vmop_fetches_state vmop_fetches_state(const struct vmop_fetches *fetches, uint32_t vmm_pid);

#endif
