// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The ids of a session's rows, a type for each table, so that the compiler refuses an id of one
 * table where another's is expected (tests/check-ids). The writer chooses them: small numbers,
 * unique within their table and session, from 1 on. Number 0 means none, except that domain 0 is
 * the host and the first event has number 0.
 *
 * An id has no padding, so that keys which contain ids can be hashed and compared as bytes.
 */
#ifndef VMOP_IDS_H
#define VMOP_IDS_H

#include <stdbool.h>
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

_Static_assert(sizeof(struct vmop_event_id) == 4, "keys are hashed as bytes");
_Static_assert(sizeof(struct vmop_domain_id) == 4, "keys are hashed as bytes");
_Static_assert(sizeof(struct vmop_task_row_id) == 4, "keys are hashed as bytes");
_Static_assert(sizeof(struct vmop_image_id) == 4, "keys are hashed as bytes");
_Static_assert(sizeof(struct vmop_stack_id) == 4, "keys are hashed as bytes");

/* The host is always domain 0; guests are numbered from 1 within a session. */
#define VMOP_DOMAIN_ID_HOST ((struct vmop_domain_id){0})

static inline bool vmop_event_id_equals(struct vmop_event_id a, struct vmop_event_id b)
{
	return a.number == b.number;
}

static inline bool vmop_domain_id_equals(struct vmop_domain_id a, struct vmop_domain_id b)
{
	return a.number == b.number;
}

static inline bool vmop_domain_id_is_host(struct vmop_domain_id id)
{
	return id.number == 0;
}

static inline bool vmop_task_row_id_equals(struct vmop_task_row_id a, struct vmop_task_row_id b)
{
	return a.number == b.number;
}

static inline bool vmop_image_id_equals(struct vmop_image_id a, struct vmop_image_id b)
{
	return a.number == b.number;
}

static inline bool vmop_stack_id_equals(struct vmop_stack_id a, struct vmop_stack_id b)
{
	return a.number == b.number;
}

#endif
