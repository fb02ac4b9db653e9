// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * daemon/active/: the active guests of a KVM host, and the guest's end of the channel between them.
 * The protocol is hv-interface's (active-message.h, active-frame.h), with the state machines of
 * Xen's active domains.
 *
 * Callers: daemon/session.c on the host, daemon/agent.c in the guest. A line of a message passes
 * through these files:
 *
 *	guests.h	host: the active guests of a session, and what their agents do
 *	links.h		host: accepts connections, and binds each to the guest that it comes from
 *	identify.h	host: reads the proof of that from the guests' memory
 *	link.h		both: one connection
 *	agent-link.h	guest: connects to the host, and proves where it runs
 *	vsock.h		the sockets of both
 *	serial.h	both: a port of virtio-serial, where there is no vsock
 *
 * No function of these waits. All of them are for the thread of the event loop.
 *
 * The guest's session comes to the host on a connection of its own, between threads of their own:
 *
 *	fetches.h	host: the sessions that a host's session fetches
 *	fetch.h		host: one of them, in its thread
 *	fetched-file.h	host: checks the file and puts it in its place
 *	session-server.h	guest: sends a copy of its session
 *	file-stream.h	both: frames with limits of time
 *	tunnel.h	both: that connection within a port of virtio-serial
 *
 * This header: one connection, a stream of frames (hv-interface/active-frame.h).
 */
#ifndef VMOP_DAEMON_ACTIVE_LINK_H
#define VMOP_DAEMON_ACTIVE_LINK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hv-interface/active-frame.h"

#define VMOP_ACTIVE_LINK_OUT_BYTES 20480
#define VMOP_ACTIVE_LINK_RESERVED_BYTES 4096 /* of these, not for samples and bulk */

struct vmop_active_link {
	int fd; /* a socket or a character device, non-blocking; -1: none */
	struct vmop_active_decoder in;
	uint8_t out[VMOP_ACTIVE_LINK_OUT_BYTES]; /* not sent yet */
	size_t n_out;
	uint32_t out_sequence;
};

/* Begin with a connection, which passes to link. */
void vmop_active_link_begin(struct vmop_active_link *link, int fd);
/* Close the connection, if there is one. */
void vmop_active_link_end(struct vmop_active_link *link);

/*
 * Queue a frame. Return false if the other side does not read, and there is no room. Samples and
 * bulk leave room for the other frames.
 */
bool vmop_active_link_send(struct vmop_active_link *link, enum vmop_active_frame_type type,
			   const void *payload, uint32_t len_bytes);
/* Return whether there is room now for a frame of that type with so long a payload. */
bool vmop_active_link_has_room(const struct vmop_active_link *link,
			       enum vmop_active_frame_type type, uint32_t len_bytes);

enum vmop_active_link_state {
	VMOP_ACTIVE_LINK_WORKS,
	VMOP_ACTIVE_LINK_CLOSED,	/* by the other side or the system */
	VMOP_ACTIVE_LINK_OTHER_VERSION, /* it is another version of vmop */
	VMOP_ACTIVE_LINK_RUBBISH,	/* it sent no frame, or a refused one */
};

/*
 * Send the queued bytes, read at most VMOP_ACTIVE_PUMP_BYTES, and call take for each whole frame.
 * take returns false if the frame must not come now. It may send, but not end the link. After
 * another state than WORKS, only vmop_active_link_end may follow.
 */
#define VMOP_ACTIVE_PUMP_BYTES 16384
enum vmop_active_link_state
vmop_active_link_pump(struct vmop_active_link *link,
		      bool (*take)(void *arg, const struct vmop_active_frame *frame), void *arg);

#endif
