// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The connection on which a session file comes (hv-interface/active-file.h), for the threads of
 * both ends: frames, sent and received with limits of time. The functions wait.
 */
#ifndef VMOP_DAEMON_ACTIVE_FILE_STREAM_H
#define VMOP_DAEMON_ACTIVE_FILE_STREAM_H

#include <stdbool.h>
#include <stdint.h>

#include "hv-interface/active-frame.h"
#include "libutil/clock.h"
#include "libutil/error.h"
#include "libutil/worker.h"

/* The whole transfer, and the longest time in which no byte comes or goes. */
#define VMOP_FILE_STREAM_WHOLE_NS (60 * VMOP_NS_PER_S)
#define VMOP_FILE_STREAM_STALL_NS (30 * VMOP_NS_PER_S)

struct vmop_file_stream {
	int fd;			    /* non-blocking; owned */
	struct vmop_worker *worker; /* of the calling thread, which ends early if the owner asks */
	uint64_t end_ns, stall_ns;  /* CLOCK_MONOTONIC; a span. Tests set shorter ones. */
	struct vmop_active_decoder in;
	uint32_t out_sequence;
};

/* Begin with a connection, which passes to stream; the limits count from now. */
void vmop_file_stream_begin(struct vmop_file_stream *stream, int fd, struct vmop_worker *worker);
void vmop_file_stream_end(struct vmop_file_stream *stream);

/* Return whether the owner asks the thread to end, or its time is over. */
bool vmop_file_stream_is_over(const struct vmop_file_stream *stream);

/* Wait until the connection is made. */
struct vmop_error *vmop_file_stream_connect(struct vmop_file_stream *stream);

/*
 * Send a frame. The errors of all functions are one line about the other side, without its name:
 * "it closed the connection".
 */
struct vmop_error *vmop_file_stream_send(struct vmop_file_stream *stream,
					 enum vmop_active_frame_type type, const void *payload,
					 size_t len_bytes);
/* Receive the next frame. Its payload is valid until the next call. */
struct vmop_error *vmop_file_stream_receive(struct vmop_file_stream *stream,
					    struct vmop_active_frame *ret);

#endif
