// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/active/link.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libutil/io.h"

void vmop_active_link_begin(struct vmop_active_link *link, int fd)
{
	link->fd = fd;
	link->in.n_bytes = link->in.n_taken = 0;
	link->in.sequence = 0;
	link->in.failure = VMOP_ACTIVE_NEEDS_MORE;
	link->n_out = 0;
	link->out_sequence = 0;
}

void vmop_active_link_end(struct vmop_active_link *link)
{
	if (link->fd >= 0)
		close(link->fd);
	link->fd = -1;
}

/* Return the room for a frame of that type. */
static size_t find_room(const struct vmop_active_link *link, enum vmop_active_frame_type type)
{
	size_t size_bytes = sizeof(link->out);
	if (type == VMOP_ACTIVE_FRAME_SAMPLES || type == VMOP_ACTIVE_FRAME_BULK)
		size_bytes -= VMOP_ACTIVE_LINK_RESERVED_BYTES;
	return link->fd < 0 || link->n_out > size_bytes ? 0 : size_bytes - link->n_out;
}

bool vmop_active_link_has_room(const struct vmop_active_link *link,
			       enum vmop_active_frame_type type, uint32_t len_bytes)
{
	return find_room(link, type) >= VMOP_ACTIVE_HEADER_BYTES + len_bytes;
}

bool vmop_active_link_send(struct vmop_active_link *link, enum vmop_active_frame_type type,
			   const void *payload, uint32_t len_bytes)
{
	const struct vmop_active_frame frame = {
		.type = type, .payload = payload, .len_bytes = len_bytes};
	size_t n = vmop_active_frame_encode(&frame, link->out_sequence, link->out + link->n_out,
					    find_room(link, type));
	if (!n)
		return false;
	link->n_out += n;
	link->out_sequence++;
	return true;
}

/* The port of virtio-serial in a guest is no socket. */
static ssize_t write_some(int fd, const void *bytes, size_t n)
{
	ssize_t n_sent = send(fd, bytes, n, MSG_NOSIGNAL | MSG_DONTWAIT);
	return n_sent < 0 && errno == ENOTSOCK ? write(fd, bytes, n) : n_sent;
}

static ssize_t read_some(int fd, void *bytes, size_t n)
{
	ssize_t n_read = recv(fd, bytes, n, MSG_DONTWAIT);
	return n_read < 0 && errno == ENOTSOCK ? read(fd, bytes, n) : n_read;
}

/* Return false if the connection is broken. */
static bool write_out(struct vmop_active_link *link)
{
	while (link->n_out) {
		ssize_t n = write_some(link->fd, link->out, link->n_out);
		if (n < 0)
			return vmop_io_may_retry(errno);
		link->n_out -= (size_t)n;
		memmove(link->out, link->out + n, link->n_out);
	}
	return true;
}

static enum vmop_active_link_state
take_frames(struct vmop_active_link *link,
	    bool (*take)(void *arg, const struct vmop_active_frame *frame), void *arg)
{
	struct vmop_active_frame frame;
	for (;;) {
		switch (vmop_active_decoder_next(&link->in, &frame)) {
		case VMOP_ACTIVE_IS_FRAME:
			if (!take(arg, &frame))
				return VMOP_ACTIVE_LINK_RUBBISH;
			break;
		case VMOP_ACTIVE_NEEDS_MORE:
			return VMOP_ACTIVE_LINK_WORKS;
		case VMOP_ACTIVE_IS_OTHER_VERSION:
			return VMOP_ACTIVE_LINK_OTHER_VERSION;
		case VMOP_ACTIVE_IS_RUBBISH:
			return VMOP_ACTIVE_LINK_RUBBISH;
		}
	}
}

enum vmop_active_link_state
vmop_active_link_pump(struct vmop_active_link *link,
		      bool (*take)(void *arg, const struct vmop_active_frame *frame), void *arg)
{
	enum vmop_active_link_state state = VMOP_ACTIVE_LINK_WORKS;
	bool works = write_out(link);
	for (size_t n_read = 0; works && n_read < VMOP_ACTIVE_PUMP_BYTES;) {
		uint8_t *into;
		size_t room = vmop_active_decoder_room(&link->in, &into);
		ssize_t n = read_some(link->fd, into, room);
		if (n <= 0) {
			works = n < 0 && vmop_io_may_retry(errno);
			break;
		}
		n_read += (size_t)n;
		vmop_active_decoder_filled(&link->in, (size_t)n);
		state = take_frames(link, take, arg);
		if (state != VMOP_ACTIVE_LINK_WORKS)
			return state;
	}
	if (works)
		works = write_out(link); /* the replies */
	return works ? state : VMOP_ACTIVE_LINK_CLOSED;
}
