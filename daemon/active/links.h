// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The host's connections to the agents of active guests.
 *
 * A connection comes with the CID of its guest, which no guest can forge (kernel:
 * drivers/vhost/vsock.c), but no interface of the kernel names the VMM of a CID. So each connection
 * is challenged with random bytes, and the agent replies with a place in its memory and its pid.
 * identify.h reads that place in the guests that may have an agent, and binds the connection to the
 * guest that has the bytes there.
 *
 * Every guest may connect, as often as it likes, and send what it likes. One that sends rubbish,
 * does not reply, or is no active guest loses its connection, is counted, and is not admitted for a
 * time that doubles with each failure; that of another version of vmop doubles nothing. A call does
 * a bounded amount of work, whatever guests do.
 */
#ifndef VMOP_DAEMON_ACTIVE_LINKS_H
#define VMOP_DAEMON_ACTIVE_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hv-interface/active-frame.h"
#include "hv-interface/active-group.h"
#include "hv-interface/active-samples.h"
#include "libutil/clock.h"
#include "libutil/error.h"

#define VMOP_ACTIVE_LINKS_MAX 64   /* connections at a time; one for each CID */
#define VMOP_ACTIVE_ACCEPTS_MAX 16 /* in one call of vmop_active_links_pump */

/* How long an agent may take to reply to the challenge, and how long its proof may be checked. */
#define VMOP_ACTIVE_PROOF_WAIT_NS (10 * VMOP_NS_PER_S)
#define VMOP_ACTIVE_CHECK_WAIT_NS (30 * VMOP_NS_PER_S)

/* How long a CID is not admitted after its first failure, and at most. */
#define VMOP_ACTIVE_FIRST_BAN_NS (5 * VMOP_NS_PER_S)
#define VMOP_ACTIVE_LONGEST_BAN_NS (600 * VMOP_NS_PER_S)

struct vmop_active_links;

/* listener_fd, which passes to the links: vmop_active_vsock_listen(); -1: none, for tests. */
struct vmop_error *vmop_active_links_create(int listener_fd, struct vmop_active_links **ret);
/* Close all connections. NULL is allowed. The opener's stores must be closed. */
void vmop_active_links_destroy(struct vmop_active_links *links);

/*
 * Add a connection of the guest with that CID, from that port, which passes to the links. Return
 * false if it was refused and closed.
 */
bool vmop_active_links_add(struct vmop_active_links *links, int fd, uint32_t cid, uint32_t port,
			   uint64_t now_ns);

/*
 * Add a connection to the port of virtio-serial of the guest of a VMM, which passes to the links.
 * Its claim is only that guest's. Return false if it was refused and closed: the guest has a
 * connection, or sent what no agent sends not long ago.
 */
bool vmop_active_links_add_serial(struct vmop_active_links *links, int fd, uint32_t vmm_pid,
				  uint64_t now_ns);

/*
 * Nothing ends a connection by virtio-serial when an agent does. So it ends when nothing comes for
 * this time; agents send a sign of life every second.
 */
#define VMOP_ACTIVE_SERIAL_SILENCE_NS (20 * VMOP_NS_PER_S)

/* Return whether the guest of a VMM has a connection by virtio-serial, accepted or not. */
bool vmop_active_links_has_serial(const struct vmop_active_links *links, uint32_t vmm_pid);

/* Accept, send and receive without waiting, and end the connections that are late. */
void vmop_active_links_pump(struct vmop_active_links *links, uint64_t now_ns);

/* A connection whose agent has replied to the challenge. */
struct vmop_active_claim {
	unsigned link;	     /* index of the connection */
	uint32_t cid;	     /* 0: by virtio-serial */
	uint32_t vmm_pid;    /* of the only guest that it can be; 0: any with a vsock */
	uint64_t claimed_ns; /* when the reply came */
	struct vmop_active_proof proof;
	uint8_t nonce[VMOP_ACTIVE_NONCE_BYTES];
};

/*
 * Set *ret to the first claim of a connection from index *at on, and *at to the index after it.
 * Return false if no connection has one. A claim stays until it is accepted, refused or late.
 */
bool vmop_active_links_claim(const struct vmop_active_links *links, unsigned *at,
			     struct vmop_active_claim *ret);

/*
 * Bind the connection of a claim to the guest of a VMM. pidfd, which passes to the links, is that
 * of the VMM: with its end the connection ends. Return false, and refuse the claim, if the guest
 * has a connection already.
 */
bool vmop_active_links_accept(struct vmop_active_links *links,
			      const struct vmop_active_claim *claim, uint32_t vmm_pid, int pidfd,
			      uint64_t now_ns);
/*
 * Give a claim more time, because some guest's memory cannot be read yet: at most
 * VMOP_ACTIVE_HOLD_NS in all.
 */
#define VMOP_ACTIVE_HOLD_NS (600 * VMOP_NS_PER_S)
void vmop_active_links_hold(struct vmop_active_links *links, const struct vmop_active_claim *claim,
			    uint64_t now_ns);
/* End the connection of a claim that is not true. */
void vmop_active_links_refuse(struct vmop_active_links *links,
			      const struct vmop_active_claim *claim, uint64_t now_ns);

/* Return whether the guest of a VMM has a connection that was accepted. */
bool vmop_active_links_has(const struct vmop_active_links *links, uint32_t vmm_pid);

/*
 * Set *ret_cid to the CID of that guest, 0 if its connection is by virtio-serial, and *ret_pidfd to
 * the pidfd of its VMM, which stays the links'. Return false if the guest has no connection.
 */
bool vmop_active_links_address(const struct vmop_active_links *links, uint32_t vmm_pid,
			       uint32_t *ret_cid, int *ret_pidfd);

/*
 * Begin a connection to the agent's server of sessions within that guest's connection by
 * virtio-serial (tunnel.h). Return a non-blocking socket, which the caller closes; -1: the guest
 * has no such connection, or the last one within it has not ended yet.
 */
int vmop_active_links_open_tunnel(struct vmop_active_links *links, uint32_t vmm_pid);
/* Return whether one has not ended yet. */
bool vmop_active_links_has_tunnel(const struct vmop_active_links *links, uint32_t vmm_pid);

/*
 * Return the opener of the stores of guests, by the pids of their VMMs. A store of a guest without
 * a connection reads "" and cannot be written.
 */
const struct vmop_active_opener *vmop_active_links_opener(struct vmop_active_links *links);

/*
 * Let the agents of accepted guests ask for the host's time: clock answers for the guest of a VMM.
 * Without it such a question is against the rules.
 */
struct vmop_active_links_clock {
	void (*read)(void *arg, uint32_t vmm_pid, struct vmop_active_clock *ret);
	void *arg;
};
void vmop_active_links_set_clock(struct vmop_active_links *links,
				 const struct vmop_active_links_clock *clock);

/* Set *ret to the last question of a guest's agent. Return false if there was none yet. */
bool vmop_active_links_asked(const struct vmop_active_links *links, uint32_t vmm_pid,
			     struct vmop_active_ask *ret);

/*
 * Send a batch of samples (active-samples.h) to the agent of a guest. Return false if its
 * connection has no room now, or if it has none.
 */
bool vmop_active_links_hand(struct vmop_active_links *links, uint32_t vmm_pid,
			    const uint8_t *payload, uint32_t len_bytes);

/* Connections that ended against the rules. */
struct vmop_active_losses {
	uint64_t n_refused;  /* not admitted: its port, too many, too soon after a failure */
	uint64_t n_unproven; /* by no or a wrong proof */
	uint64_t n_rubbish;  /* by bytes that are no frame, or not the expected one */
	uint64_t n_versions; /* of other versions of vmop */
};
const struct vmop_active_losses *vmop_active_links_losses(const struct vmop_active_links *links);

#endif
