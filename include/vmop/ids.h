// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ids of a session's rows, a type for each table, so that the compiler refuses an id of one
 * table where another's is expected. The writer chooses them: small numbers, unique within their
 * table and session, from 1 on. Number 0 means none, except that domain 0 is the host and the
 * first event has number 0.
 */
#ifndef VMOP_IDS_H
#define VMOP_IDS_H

#include <stdint.h>

struct vmop_event_id {
	uint32_t number;
};

struct vmop_domain_id {
	uint32_t number;
};

struct vmop_task_row_id {
	uint32_t number;
};

struct vmop_image_id {
	uint32_t number;
};

/* A node of the session's tree of call stacks; see vmop/stack.h. */
struct vmop_stack_id {
	uint32_t number;
};

#endif
