// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/active/tunnel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libutil/io.h"

/* Bytes in one frame: two of them find room in a link, beside the commands. */
#define PIECE_BYTES 8000

int vmop_tunnel_open(struct vmop_tunnel *tunnel)
{
	int pair[2];
	if (tunnel->state != VMOP_TUNNEL_FREE)
		return -1;
	tunnel->held = malloc(VMOP_TUNNEL_HELD_BYTES);
	if (!tunnel->held ||
	    socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) < 0) {
		free(tunnel->held);
		tunnel->held = NULL;
		return -1;
	}
	tunnel->state = VMOP_TUNNEL_OPEN;
	tunnel->has_peer_ended = false;
	tunnel->fd = pair[0];
	tunnel->n_held = 0;
	return pair[1];
}

/* Part from the thread, and leave the tunnel in a state without it. */
static void part(struct vmop_tunnel *tunnel, enum vmop_tunnel_state state)
{
	if (tunnel->state == VMOP_TUNNEL_OPEN)
		close(tunnel->fd);
	free(tunnel->held);
	tunnel->held = NULL;
	tunnel->n_held = 0;
	tunnel->state = state;
}

void vmop_tunnel_reset(struct vmop_tunnel *tunnel)
{
	part(tunnel, VMOP_TUNNEL_FREE);
}

static bool take_end(struct vmop_tunnel *tunnel)
{
	switch (tunnel->state) {
	case VMOP_TUNNEL_FREE:
		return false;
	case VMOP_TUNNEL_OPEN: /* after the bytes that the thread has not read yet */
	case VMOP_TUNNEL_ENDING:
		if (tunnel->has_peer_ended)
			return false;
		tunnel->has_peer_ended = true;
		return true;
	case VMOP_TUNNEL_ENDED:
		tunnel->state = VMOP_TUNNEL_FREE;
		return true;
	}
	return false;
}

bool vmop_tunnel_take(struct vmop_tunnel *tunnel, const struct vmop_active_frame *frame)
{
	if (frame->type == VMOP_ACTIVE_FRAME_END)
		return take_end(tunnel);
	if (tunnel->state == VMOP_TUNNEL_FREE || tunnel->has_peer_ended)
		return false;
	if (tunnel->state != VMOP_TUNNEL_OPEN) /* of a transfer that this side has ended */
		return true;
	if (frame->len_bytes > VMOP_TUNNEL_HELD_BYTES - tunnel->n_held)
		return false;
	memcpy(tunnel->held + tunnel->n_held, frame->payload, frame->len_bytes);
	tunnel->n_held += frame->len_bytes;
	return true;
}

/* Give the thread the bytes that are held for it. Return false if it has ended. */
static bool give(struct vmop_tunnel *tunnel)
{
	size_t n_given = 0;
	ssize_t n = 0;
	while (n_given < tunnel->n_held) {
		n = send(tunnel->fd, tunnel->held + n_given, tunnel->n_held - n_given,
			 MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0)
			break;
		n_given += (size_t)n;
	}
	tunnel->n_held -= n_given;
	memmove(tunnel->held, tunnel->held + n_given, tunnel->n_held);
	return n >= 0 || vmop_io_may_retry(errno);
}

/* Send what the thread has written. Return false if it has ended. */
static bool send_on(const struct vmop_tunnel *tunnel, struct vmop_active_link *link)
{
	uint8_t piece[PIECE_BYTES];
	while (vmop_active_link_has_room(link, VMOP_ACTIVE_FRAME_BULK, sizeof(piece))) {
		ssize_t n = recv(tunnel->fd, piece, sizeof(piece), MSG_DONTWAIT);
		if (n == 0)
			return false;
		if (n < 0)
			return vmop_io_may_retry(errno);
		vmop_active_link_send(link, VMOP_ACTIVE_FRAME_BULK, piece, (uint32_t)n);
	}
	return true;
}

bool vmop_tunnel_pass(struct vmop_tunnel *tunnel, struct vmop_active_link *link)
{
	if (tunnel->state == VMOP_TUNNEL_OPEN) {
		bool goes_on = give(tunnel) && send_on(tunnel, link);
		if (!goes_on || (tunnel->has_peer_ended && !tunnel->n_held))
			part(tunnel, VMOP_TUNNEL_ENDING);
	}
	if (tunnel->state == VMOP_TUNNEL_ENDING &&
	    vmop_active_link_send(link, VMOP_ACTIVE_FRAME_END, "", 0))
		tunnel->state = tunnel->has_peer_ended ? VMOP_TUNNEL_FREE : VMOP_TUNNEL_ENDED;
	return tunnel->n_held == 0;
}
