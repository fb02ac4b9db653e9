// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Fetches the session of one active guest to the host, in a thread of its own. The thread asks the
 * guest's agent on a connection of its own (hv-interface/active-file.h), receives the file
 * (file-stream.h) and checks it (fetched-file.h). The owner puts it beside the host's session,
 * which can have got another name meanwhile.
 *
 * A guest that stalls, floods or sends rubbish so costs only its own file. The owner never waits.
 */
#ifndef VMOP_DAEMON_ACTIVE_FETCH_H
#define VMOP_DAEMON_ACTIVE_FETCH_H

#include "daemon/active/fetched-file.h"
#include "hv-interface/active-file.h"
#include "libutil/error.h"

struct vmop_fetch;

struct vmop_fetch_options {
	int (*dial)(uint32_t cid); /* vmop_active_vsock_dial_guest, which tests replace */
	uint32_t cid;		   /* of the guest, to dial; 0: it has no vsock */
	int fd;			   /* the connection to it; passes as place does; -1: none */
	int pidfd;		   /* of its VMM; not owned; -1: none, for tests */
	struct vmop_active_file_request request;
	struct vmop_fetched_place place; /* passes to the fetch, also after an error */
	unsigned nice;
};

struct vmop_error *vmop_fetch_begin(const struct vmop_fetch_options *options,
				    struct vmop_fetch **ret);
/* Interrupt it if it goes on, leave no partial file, and free it. NULL is allowed. */
void vmop_fetch_end(struct vmop_fetch *fetch);

enum vmop_fetch_state {
	VMOP_FETCH_GOES_ON,
	VMOP_FETCH_DONE, /* the file is whole and was checked */
	VMOP_FETCH_FAILED,
};
struct vmop_fetch_status {
	enum vmop_fetch_state state;
	uint64_t n_bytes; /* received */
	char reason[256]; /* one line, if it FAILED */
};
void vmop_fetch_status(struct vmop_fetch *fetch, struct vmop_fetch_status *ret);

/* Give the file of a fetch that is DONE this name in the session directory. */
struct vmop_error *vmop_fetch_publish(struct vmop_fetch *fetch, const char *name);

#endif
