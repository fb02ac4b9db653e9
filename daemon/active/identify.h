// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Finds the guest behind a connection: the one that has the challenge's random bytes at the place
 * that the agent names, in the memory of a process named vmopd.
 *
 * Only that place of each candidate is read. A search of its memory would find the bytes also in
 * the buffers of a guest that only passes them on. A candidate is a guest of --active-domains whose
 * VMM has /dev/vhost-vsock open; for a connection by virtio-serial, the guest whose port it is. Its
 * VMM is held by a pidfd from the moment on at which it is first
 * seen, so that its pid cannot become another process's unnoticed.
 */
#ifndef VMOP_DAEMON_ACTIVE_IDENTIFY_H
#define VMOP_DAEMON_ACTIVE_IDENTIFY_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/active/links.h"
#include "daemon/active/session-clock.h"
#include "daemon/guest/domain.h"
#include "daemon/guest/guests.h"

/* The guests of --active-domains that run at a time and can have an agent. */
#define VMOP_ACTIVE_CANDIDATES_MAX VMOP_ACTIVE_LINKS_MAX

struct vmop_active_candidate {
	uint32_t vmm_pid;
	int pidfd;
	bool has_vsock;			    /* the VMM has the device open */
	uint64_t vsock_checked_ns;	    /* when its descriptors were last looked at; 0: never */
	uint64_t dialled_ns, dial_pause_ns; /* of its port of virtio-serial; 0: never */
	bool serial_was_logged;		    /* that it cannot be connected */
	uint64_t seen_ns;		    /* when the session last listed the guest */
	uint32_t kvm_tid;		    /* as in struct vmop_domain */
	bool was_sampled;		    /* its agent samples, as far as was logged */
	uint64_t silent_ns; /* since when it does not, and that was not logged; 0: it does */
	struct vmop_session_clock clock;    /* of its session */
	char name[VMOP_GUEST_NAME_BYTES];
	char uuid[VMOP_UUID_BYTES]; /* "": not known */
};

struct vmop_active_candidates {
	struct vmop_active_candidate at[VMOP_ACTIVE_CANDIDATES_MAX];
	size_t n;
	bool limit_was_logged;
};

/*
 * Add the guests that came, and drop those that went. A guest whose VMM runs is kept for a while
 * although domains lacks it, because each new file of a session lists the guests anew.
 */
#define VMOP_ACTIVE_UNLISTED_NS (30 * VMOP_NS_PER_S)
void vmop_active_candidates_follow(struct vmop_active_candidates *candidates,
				   const struct vmop_domains *domains, uint64_t now_ns);
void vmop_active_candidates_deinit(struct vmop_active_candidates *candidates);

/*
 * Log that a guest's agent begins or ceases to sample, with is_handed the host's samples. The
 * connection of a VMM that ends is lost before the process is gone: a guest that goes in this time
 * is logged as gone, by vmop_active_candidates_follow(), and not as one without an agent.
 */
#define VMOP_ACTIVE_SILENT_NS (3 * VMOP_NS_PER_S)
void vmop_active_candidate_log(struct vmop_active_candidate *candidate, bool is_sampled,
			       bool is_handed, uint64_t now_ns);

/*
 * Connect to the ports of virtio-serial of the guests that have one and are not connected. A guest
 * without an agent is tried again after a pause, which doubles up to the longest.
 */
#define VMOP_ACTIVE_FIRST_DIAL_NS (3 * VMOP_NS_PER_S)
#define VMOP_ACTIVE_LONGEST_DIAL_NS (48 * VMOP_NS_PER_S)
void vmop_active_candidates_dial(struct vmop_active_candidates *candidates,
				 struct vmop_active_links *links, const char *root,
				 uint64_t now_ns);

/*
 * Go on with the check of each claim: accept it, refuse it, or leave it for the next call.
 */
void vmop_active_identify(struct vmop_active_links *links,
			  struct vmop_active_candidates *candidates,
			  const struct vmop_domains *domains, struct vmop_guests *guests,
			  uint64_t now_ns);

#endif
