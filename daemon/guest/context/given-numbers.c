// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/context/given-numbers.h"

#include "libutil/clock.h"

/* How long the guests of the session before may take to be found again. */
#define KEEP_NS (3 * VMOP_NS_PER_S)

void vmop_given_numbers_remove(struct vmop_guests *guests, struct vmop_watched_guest *watched)
{
	if (watched->put_generation)
		vmop_guest_maps_remove(guests->maps, watched->vmm_pid);
	watched->put_generation = 0;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* Set the sizes of the windows that stacks need. */
static void want_windows(const struct vmop_stack_options *stacks,
			 struct vmop_guest_numbers *numbers)
{
	uint32_t user_bytes =
		stacks->user_stack_bytes ? stacks->user_stack_bytes : VMOP_USER_STACK_BYTES;
	if (stacks->mode == VMOP_STACKS_OFF)
		return;
	numbers->kernel_window_bytes = VMOP_GUEST_KERNEL_WINDOW_MAX;
	if (stacks->mode != VMOP_STACKS_KERNEL)
		numbers->user_window_bytes = least(user_bytes, VMOP_GUEST_USER_WINDOW_MAX) & ~7u;
}

void vmop_given_numbers_put(struct vmop_guests *guests, const struct vmop_domain *domain)
{
	struct vmop_watched_guest *watched = domain->watched;
	struct vmop_guest_numbers numbers = watched->view->numbers;
	if (!guests->maps || !domain->vmm_pid || numbers.generation == watched->put_generation)
		return;
	if (!numbers.generation || watched->vmm_pid != domain->vmm_pid)
		vmop_given_numbers_remove(guests, watched);
	if (!numbers.generation)
		return;
	want_windows(&guests->stacks, &numbers);
	watched->vmm_pid = domain->vmm_pid;
	if (vmop_guest_maps_put(guests->maps, domain->vmm_pid, &numbers))
		watched->put_generation = numbers.generation;
}

static bool is_watched_vmm(const void *arg, uint32_t vmm_pid)
{
	const struct vmop_guests *guests = arg;
	for (uint32_t i = 1; i < guests->domains->n; i++) {
		const struct vmop_watched_guest *watched = guests->domains->at[i]->watched;
		if (watched && watched->put_generation && watched->vmm_pid == vmm_pid)
			return true;
	}
	return false;
}

void vmop_given_numbers_sweep(struct vmop_guests *guests)
{
	if (guests->has_own_numbers || !guests->maps ||
	    vmop_clock_ns(CLOCK_MONOTONIC) - guests->begun_ns < KEEP_NS)
		return;
	vmop_guest_maps_retain(guests->maps, is_watched_vmm, guests);
	guests->has_own_numbers = true;
}
