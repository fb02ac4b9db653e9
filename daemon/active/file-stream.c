// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/active/file-stream.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "libutil/io.h"

/* The time after which a waiting thread looks whether it shall end. */
#define LOOK_EVERY_MS 100

void vmop_file_stream_begin(struct vmop_file_stream *stream, int fd, struct vmop_worker *worker)
{
	memset(stream, 0, sizeof(*stream));
	stream->fd = fd;
	stream->worker = worker;
	stream->end_ns = vmop_clock_ns(CLOCK_MONOTONIC) + VMOP_FILE_STREAM_WHOLE_NS;
	stream->stall_ns = VMOP_FILE_STREAM_STALL_NS;
}

void vmop_file_stream_end(struct vmop_file_stream *stream)
{
	if (stream->fd >= 0)
		close(stream->fd);
	stream->fd = -1;
}

bool vmop_file_stream_is_over(const struct vmop_file_stream *stream)
{
	return vmop_worker_is_ending(stream->worker) ||
	       vmop_clock_ns(CLOCK_MONOTONIC) >= stream->end_ns;
}

/* Wait until the connection is ready for events, since since_ns. */
static struct vmop_error *await(const struct vmop_file_stream *stream, short events,
				uint64_t since_ns)
{
	struct pollfd pollfd = {.fd = stream->fd, .events = events};
	while (poll(&pollfd, 1, LOOK_EVERY_MS) <= 0) {
		uint64_t now_ns = vmop_clock_ns(CLOCK_MONOTONIC);
		if (vmop_worker_is_ending(stream->worker))
			return vmop_error_new(VMOP_ERROR_BUSY, "interrupted");
		if (now_ns - since_ns >= stream->stall_ns)
			return vmop_error_new(VMOP_ERROR_BUSY, "it does not answer");
		if (now_ns >= stream->end_ns)
			break;
	}
	if (vmop_clock_ns(CLOCK_MONOTONIC) >= stream->end_ns)
		return vmop_error_new(VMOP_ERROR_BUSY, "it took too long");
	return NULL;
}

struct vmop_error *vmop_file_stream_connect(struct vmop_file_stream *stream)
{
	int error = 0;
	socklen_t len = sizeof(error);
	struct vmop_error *err = await(stream, POLLOUT, vmop_clock_ns(CLOCK_MONOTONIC));
	if (err)
		return err;
	if (getsockopt(stream->fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0)
		error = errno;
	return error ? vmop_error_new(VMOP_ERROR_CANT, "it can't be reached (%s)", strerror(error))
		     : NULL;
}

struct vmop_error *vmop_file_stream_send(struct vmop_file_stream *stream,
					 enum vmop_active_frame_type type, const void *payload,
					 size_t len_bytes)
{
	uint8_t bytes[VMOP_ACTIVE_HEADER_BYTES + VMOP_ACTIVE_BULK_BYTES];
	const struct vmop_active_frame frame = {
		.type = type, .payload = payload, .len_bytes = (uint32_t)len_bytes};
	size_t left =
		vmop_active_frame_encode(&frame, stream->out_sequence++, bytes, sizeof(bytes));
	uint64_t since_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	struct vmop_error *err = NULL;
	for (const uint8_t *at = bytes; left && !err;) {
		ssize_t n = send(stream->fd, at, left, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (n < 0 && !vmop_io_may_retry(errno))
			return vmop_error_new(VMOP_ERROR_CANT, "it closed the connection");
		if (n < 0) {
			err = await(stream, POLLOUT, since_ns);
			continue;
		}
		at += n;
		left -= (size_t)n;
		since_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	}
	return err;
}

struct vmop_error *vmop_file_stream_receive(struct vmop_file_stream *stream,
					    struct vmop_active_frame *ret)
{
	uint64_t since_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	struct vmop_error *err = NULL;
	while (!err) {
		uint8_t *into;
		switch (vmop_active_decoder_next(&stream->in, ret)) {
		case VMOP_ACTIVE_IS_FRAME:
			return NULL;
		case VMOP_ACTIVE_IS_OTHER_VERSION:
			return vmop_error_new(VMOP_ERROR_CANT, "it is of another version");
		case VMOP_ACTIVE_IS_RUBBISH:
			return vmop_error_new(VMOP_ERROR_CANT, "it sent what no agent sends");
		case VMOP_ACTIVE_NEEDS_MORE:
			break;
		}
		err = await(stream, POLLIN, since_ns);
		if (err)
			break;
		size_t room = vmop_active_decoder_room(&stream->in, &into);
		ssize_t n = recv(stream->fd, into, room, MSG_DONTWAIT);
		if (n == 0 || (n < 0 && !vmop_io_may_retry(errno)))
			return vmop_error_new(VMOP_ERROR_CANT, "it closed the connection");
		if (n < 0)
			continue;
		vmop_active_decoder_filled(&stream->in, (size_t)n);
		since_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	}
	return err;
}
