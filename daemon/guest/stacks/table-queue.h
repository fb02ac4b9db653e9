// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The requests of the sampling thread for unwind tables of guests' files, and the answers of the
 * watching thread: two queues of fixed size, each first in, first out.
 *
 * The owner's lock protects them.
 */
#ifndef VMOP_DAEMON_GUEST_STACKS_TABLE_QUEUE_H
#define VMOP_DAEMON_GUEST_STACKS_TABLE_QUEUE_H

#include <stdbool.h>

#include "daemon/guest/stacks/file-tables.h"
#include "daemon/guest/stacks/host-file.h"
#include "vmop/ids.h"

#define VMOP_GUEST_TABLE_QUEUE 64

struct vmop_guest_table_request {
	struct vmop_domain_id domain;
	struct vmop_guest_code_mapping mapping;
	char host_path[VMOP_HOST_FILE_PATH_BYTES]; /* of the same file on this machine; "": none */
};

struct vmop_guest_table_answer {
	struct vmop_domain_id domain;
	struct vmop_guest_code_key key;
	enum vmop_code_state state;
	struct vmop_cfi_table *table; /* NULL unless VMOP_CODE_HAS_TABLE; its holder destroys it */
};

struct vmop_guest_table_queue {
	unsigned n_requests, n_answers;
	struct vmop_guest_table_request requests[VMOP_GUEST_TABLE_QUEUE];
	struct vmop_guest_table_answer answers[VMOP_GUEST_TABLE_QUEUE];
};

/* Append a request. Return false if there is no room. */
bool vmop_guest_table_queue_request(struct vmop_guest_table_queue *queue,
				    const struct vmop_guest_table_request *request);

/* Take the oldest request, for whose answer there is room. Return false if the queue has no
 * request. */
bool vmop_guest_table_queue_next(struct vmop_guest_table_queue *queue,
				 struct vmop_guest_table_request *ret);

/* Append an answer; its table passes to the queue. There must be room. */
void vmop_guest_table_queue_answer(struct vmop_guest_table_queue *queue,
				   const struct vmop_guest_table_answer *answer);

/* Take a domain's oldest answer. Return false if it has no answer. */
bool vmop_guest_table_queue_take(struct vmop_guest_table_queue *queue, struct vmop_domain_id domain,
				 struct vmop_guest_table_answer *ret);

/* Drop the requests and answers of a domain. */
void vmop_guest_table_queue_drop(struct vmop_guest_table_queue *queue,
				 struct vmop_domain_id domain);

/* Drop all of them. */
void vmop_guest_table_queue_deinit(struct vmop_guest_table_queue *queue);

#endif
