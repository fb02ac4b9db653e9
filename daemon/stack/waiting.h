// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A queue of samples whose stacks can't be unwound yet, in the order in which they came, with
 * copies of their captures.
 *
 * The queue has a fixed size; its memory is used only while samples wait.
 */
#ifndef VMOP_DAEMON_STACK_WAITING_H
#define VMOP_DAEMON_STACK_WAITING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/host/regions.h"
#include "daemon/profile/sample-key.h"
#include "daemon/stack/tree.h"
#include "libutil/error.h"
#include "vmop/stack.h"

/* A sample without its stack. */
struct vmop_stack_sample {
	struct vmop_sample_key key;
	uint64_t offset, weight_events;
	uint64_t time_ns; /* CLOCK_MONOTONIC */
	/*
	 * The node of the guest's frame for which the host works: the host's stack is above it. Id
	 * 0: none.
	 */
	struct vmop_stack_node below;
};

struct vmop_waiting_stack {
	struct vmop_stack_sample sample;
	uint32_t pid;
	struct vmop_regions *regions; /* of that time, referenced; NULL: not read yet */
	bool is_kernel;
	bool is_kernel_thread;
	bool is_outdated;		   /* see struct vmop_stack_task */
	struct vmop_stack_capture capture; /* points into the queue */
};

struct vmop_waiting_stacks;

/* Create a queue of size_bytes, which the caller owns. It must be empty when it is destroyed. */
struct vmop_error *vmop_waiting_stacks_create(size_t size_bytes, struct vmop_waiting_stacks **ret);
void vmop_waiting_stacks_destroy(struct vmop_waiting_stacks *waiting); /* NULL is allowed */

/*
 * Append a copy of stack with what its capture points to, and take over its reference to regions.
 * False: no room; the reference stays the caller's. On the per-sample path.
 */
bool vmop_waiting_stacks_add(struct vmop_waiting_stacks *waiting,
			     const struct vmop_waiting_stack *stack);

/*
 * Call release for each stack in order. A stack stays if release returns false, else it is removed.
 * release must not change the queue.
 */
void vmop_waiting_stacks_release(struct vmop_waiting_stacks *waiting,
				 bool (*release)(void *arg, struct vmop_waiting_stack *stack),
				 void *arg);

/* Return the number of waiting stacks. */
size_t vmop_waiting_stacks_n(const struct vmop_waiting_stacks *waiting);

#endif
