// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/context/states.h"

#include <stdlib.h>
#include <unistd.h>

void vmop_guest_states_init(struct vmop_guest_states *states)
{
	long n = sysconf(_SC_NPROCESSORS_CONF);
	if (n < 1 || states->at)
		return;
	states->at = calloc((size_t)n, sizeof(*states->at));
	states->n = states->at ? (uint32_t)n : 0;
}

void vmop_guest_states_deinit(struct vmop_guest_states *states)
{
	free(states->at);
	*states = (struct vmop_guest_states){0};
}

struct vmop_guest_state *vmop_guest_states_of(const struct vmop_guest_states *states, uint32_t cpu)
{
	return cpu < states->n ? &states->at[cpu] : NULL;
}

const struct vmop_guest_state *vmop_guest_states_take(const struct vmop_guest_states *states,
						      uint32_t cpu, uint32_t tid)
{
	struct vmop_guest_state *state = vmop_guest_states_of(states, cpu);
	if (!state || !state->is_kept)
		return NULL;
	state->is_kept = false;
	return state->tid == tid ? state : NULL;
}
