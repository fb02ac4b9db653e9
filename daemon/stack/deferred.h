// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * User stacks that came after their samples (VMOP_RECORD_USER_CHAIN), by the cookie that the
 * samples have. They are kept until the interval is stored.
 *
 * All functions belong to the sampling thread.
 */
#ifndef VMOP_DAEMON_STACK_DEFERRED_H
#define VMOP_DAEMON_STACK_DEFERRED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"

struct vmop_deferred_stacks;

/* Create a set of at most size_bytes, which the caller owns. Its pages are used as it fills. */
struct vmop_error *vmop_deferred_stacks_create(size_t size_bytes,
					       struct vmop_deferred_stacks **ret);
void vmop_deferred_stacks_destroy(struct vmop_deferred_stacks *deferred); /* NULL is allowed */

/* Keep a copy of the frames. False: no room. On the per-sample path. */
bool vmop_deferred_stacks_add(struct vmop_deferred_stacks *deferred, uint64_t cookie,
			      const uint64_t *frames, size_t n);

/* Set *ret to the frames of a cookie, valid until the next add, and return their number; 0: none.
 */
size_t vmop_deferred_stacks_find(const struct vmop_deferred_stacks *deferred, uint64_t cookie,
				 const uint64_t **ret);

/* Forget all. */
void vmop_deferred_stacks_clear(struct vmop_deferred_stacks *deferred);

#endif
