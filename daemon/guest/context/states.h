// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The states in which guests left their vCPUs (VMOP_RECORD_GUEST_STATE), one for each CPU of the
 * host. A state belongs to the next sample of that CPU, if that is of the same thread.
 */
#ifndef VMOP_DAEMON_GUEST_CONTEXT_STATES_H
#define VMOP_DAEMON_GUEST_CONTEXT_STATES_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/guest/domain.h"
#include "daemon/guest/held-samples.h"
#include "vmop/stack.h"

struct vmop_guest_state {
	bool is_kept;
	uint32_t tid; /* of the vCPU's thread */
	struct vmop_domain *domain;
	struct vmop_held_context context;
	/* Packed (stacks/sample-unwinder.h): the guest's instruction, then its callers. */
	uint64_t frames[VMOP_STACK_FRAMES_MAX];
	size_t n;
	enum vmop_stack_end end;
};

/* Zeroed: of no CPU. */
struct vmop_guest_states {
	struct vmop_guest_state *at; /* by number of the CPU; their pages are used as needed */
	uint32_t n;
};

/* Make room for the states of all CPUs. Without memory no state is kept. */
void vmop_guest_states_init(struct vmop_guest_states *states);
void vmop_guest_states_deinit(struct vmop_guest_states *states);

/* Return the state of a CPU, to be filled; NULL: there is no room for it. */
struct vmop_guest_state *vmop_guest_states_of(const struct vmop_guest_states *states, uint32_t cpu);

/* Return the state that a sample of this CPU and thread belongs to, and drop it; NULL: none. */
const struct vmop_guest_state *vmop_guest_states_take(const struct vmop_guest_states *states,
						      uint32_t cpu, uint32_t tid);

#endif
