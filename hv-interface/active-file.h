// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * How the session file of an active guest of KVM reaches its host: a connection of its own, from
 * the host to the guest, with the frames of active-frame.h. By virtio-serial it lies within that of
 * the commands (daemon/active/tunnel.h).
 *
 * 	host	line "fetch TOKEN BYTES"	send the session, at most BYTES long, of the
 * 						initiator's session TOKEN (16 hexadecimal digits)
 * 	agent	line "file BYTES"		it is so long, at least 1
 * 		bulk ...			exactly these bytes
 * 		line "hash HASH"		their XXH3 of 128 bits, 32 hexadecimal digits
 * 	or
 * 	agent	line "none REASON"		no file comes; REASON is printable ASCII
 *
 * Then both close the connection. A transfer that was cut off begins anew.
 *
 * Each side treats the other side's frames as hostile input. This file does no I/O and never waits;
 * daemon/active/fetch.h and session-server.h are its callers.
 */
#ifndef VMOP_HV_INTERFACE_ACTIVE_FILE_H
#define VMOP_HV_INTERFACE_ACTIVE_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <xxhash.h>

#include "hv-interface/active-frame.h"
#include "libutil/error.h"

#define VMOP_ACTIVE_FILE_LINE_BYTES 256 /* of a line, with the NUL */
#define VMOP_ACTIVE_FILE_REASON_BYTES 200

/* ---- the host's request ------------------------------------------------------------------ */

struct vmop_active_file_request {
	uint64_t token;	    /* not 0 */
	uint64_t max_bytes; /* not 0 */
};

/* Write the request's line, and return its length. */
size_t vmop_active_file_ask(const struct vmop_active_file_request *request,
			    char ret[VMOP_ACTIVE_FILE_LINE_BYTES]);

/* Parse a request. Return false, and leave *ret unchanged, if the frame is no request. */
bool vmop_active_file_asked(const struct vmop_active_frame *frame,
			    struct vmop_active_file_request *ret);

/* ---- the agent's answer ------------------------------------------------------------------ */

/* Write the agent's lines, and return their length. */
size_t vmop_active_file_begin(uint64_t size_bytes, char ret[VMOP_ACTIVE_FILE_LINE_BYTES]);
size_t vmop_active_file_end(const XXH3_state_t *hash, char ret[VMOP_ACTIVE_FILE_LINE_BYTES]);
/* Replace unprintable characters of reason by '?', and cut it if it is too long. */
size_t vmop_active_file_refuse(const char *reason, char ret[VMOP_ACTIVE_FILE_LINE_BYTES]);

/* ---- the host's side of the answer ----------------------------------------------------------
 */

enum vmop_active_file_outcome {
	VMOP_ACTIVE_FILE_BEGINS,  /* size_bytes is known now */
	VMOP_ACTIVE_FILE_BYTES,	  /* the frame's payload is the next piece of the file */
	VMOP_ACTIVE_FILE_WHOLE,	  /* the file is whole, and as it was sent */
	VMOP_ACTIVE_FILE_REFUSED, /* no file comes: see reason */
	VMOP_ACTIVE_FILE_WRONG,	  /* no agent sends this: see reason */
};

struct vmop_active_file {
	enum vmop_active_file_stage {
		VMOP_ACTIVE_FILE_AWAITED,
		VMOP_ACTIVE_FILE_COMES,
		VMOP_ACTIVE_FILE_OVER,
	} stage;
	uint64_t max_bytes, size_bytes, n_bytes;    /* the bound; announced; received */
	char reason[VMOP_ACTIVE_FILE_REASON_BYTES]; /* printable ASCII */
	XXH3_state_t *hash;
};

/* Begin to receive a file of at most max_bytes. The caller deinitialises ret also after errors. */
struct vmop_error *vmop_active_file_init(struct vmop_active_file *ret, uint64_t max_bytes);
void vmop_active_file_deinit(struct vmop_active_file *file);

/*
 * Take the agent's next frame. After WHOLE, REFUSED and WRONG every further frame is WRONG. The
 * bytes of all pieces are never more than size_bytes, which is never more than max_bytes.
 */
enum vmop_active_file_outcome vmop_active_file_take(struct vmop_active_file *file,
						    const struct vmop_active_frame *frame);

#endif
