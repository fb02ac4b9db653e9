// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Maps that keep the numbers they are given, in place of the kernel's: the tests of the daemon's
 * side see what the kernel's program would. tests/unit/hv-interface/bpf tests the real ones.
 */
#ifndef VMOP_TEST_GUEST_MAPS_DOUBLE_H
#define VMOP_TEST_GUEST_MAPS_DOUBLE_H

#include "hv-interface/bpf/guest-maps.h"

struct vmop_guest_maps {
	uint32_t vmm_pid; /* 0: no guest */
	struct vmop_guest_numbers numbers;
	unsigned n_puts, n_removed;
	bool refuses;
};

bool vmop_guest_maps_put(struct vmop_guest_maps *maps, uint32_t vmm_pid,
			 const struct vmop_guest_numbers *numbers)
{
	if (maps->refuses)
		return false;
	maps->vmm_pid = vmm_pid;
	maps->numbers = *numbers;
	maps->n_puts++;
	return true;
}

void vmop_guest_maps_remove(struct vmop_guest_maps *maps, uint32_t vmm_pid)
{
	if (maps->vmm_pid == vmm_pid)
		maps->vmm_pid = 0;
	maps->n_removed++;
}

void vmop_guest_maps_retain(struct vmop_guest_maps *maps,
			    bool (*is_kept)(const void *arg, uint32_t vmm_pid), const void *arg)
{
	if (maps->vmm_pid && !is_kept(arg, maps->vmm_pid))
		vmop_guest_maps_remove(maps, maps->vmm_pid);
}

#endif
