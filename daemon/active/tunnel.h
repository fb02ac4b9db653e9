// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A connection of its own inside a port of virtio-serial, which is one stream: the transfer of the
 * guest's session (hv-interface/active-file.h), whose bytes pass in bulk frames between those of
 * the commands. The thread of the transfer has one end of a pair of sockets, as if it were
 * connected by vsock, and the tunnel has the other one. Both sides use it, the host to begin it.
 *
 * Each side ends it by an end frame, so that no byte of an ended transfer is taken for one of the
 * next: a tunnel is free again once both have ended it.
 *
 * Commands go first: bulk leaves room for them in the link. A thread that does not read stops the
 * whole link, and its other side with it, until the limits of the transfer (file-stream.h) end it.
 */
#ifndef VMOP_DAEMON_ACTIVE_TUNNEL_H
#define VMOP_DAEMON_ACTIVE_TUNNEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/active/link.h"

/* One call of vmop_active_link_pump brings less: what it reads, and what its decoder had. */
#define VMOP_TUNNEL_HELD_BYTES (VMOP_ACTIVE_PUMP_BYTES + 2 * sizeof(struct vmop_active_decoder))

/* Zeroed: free. */
struct vmop_tunnel {
	enum vmop_tunnel_state {
		VMOP_TUNNEL_FREE,
		VMOP_TUNNEL_OPEN,
		VMOP_TUNNEL_ENDING, /* this side owes the end frame, the other one perhaps, too */
		VMOP_TUNNEL_ENDED,  /* the other side owes it */
	} state;
	bool has_peer_ended; /* ENDING: only this side owes it */
	int fd;		     /* OPEN: the tunnel's end of the pair */
	uint8_t *held;	     /* bytes that the thread has not read yet */
	size_t n_held;
};

/* Open a free tunnel. Return the thread's end, which the caller closes; -1: not free, no memory. */
int vmop_tunnel_open(struct vmop_tunnel *tunnel);
/* The link has ended: close it at once. */
void vmop_tunnel_reset(struct vmop_tunnel *tunnel);

/* Take a bulk or end frame of the link. Return false if it must not come now. */
bool vmop_tunnel_take(struct vmop_tunnel *tunnel, const struct vmop_active_frame *frame);

/*
 * Pass on what waits, as far as thread and link accept it. Return false if bytes for the thread
 * still wait: then the link must not be pumped.
 */
bool vmop_tunnel_pass(struct vmop_tunnel *tunnel, struct vmop_active_link *link);

static inline bool vmop_tunnel_is_used(const struct vmop_tunnel *tunnel)
{
	return tunnel->state != VMOP_TUNNEL_FREE;
}

#endif
