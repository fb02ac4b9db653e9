// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Maps with the numbers of each guest's kernel, by which the BPF program on the sampling events
 * reads the task, the page and the stacks of a sample (vmop/guest-context.h). daemon/guest fills
 * them from libguest's findings. The perf source owns them (vmop_source_guest_maps).
 *
 * A guest without an entry still has registers and the guest-physical address. A wrong entry costs
 * parts of contexts, and no memory outside the guest is ever read: each address goes through the
 * guest's page tables and KVM's memory slots.
 */
#ifndef VMOP_HV_INTERFACE_BPF_GUEST_MAPS_H
#define VMOP_HV_INTERFACE_BPF_GUEST_MAPS_H

#include <stdbool.h>
#include <stdint.h>

#include "vmop/guest-context.h"
#include "vmop/guest-numbers.h"

struct vmop_guest_maps;

#define VMOP_GUEST_MAPS_MAX 1024 /* guests; further ones have no entry */

/*
 * Give the program the numbers of the guest that process vmm_pid runs, in place of earlier ones.
 * False: there is no room, or the kernel refused it. Takes microseconds. Any thread.
 */
bool vmop_guest_maps_put(struct vmop_guest_maps *maps, uint32_t vmm_pid,
			 const struct vmop_guest_numbers *numbers);

/* Forget a guest, which may be unknown. Any thread. */
void vmop_guest_maps_remove(struct vmop_guest_maps *maps, uint32_t vmm_pid);

/*
 * Forget all guests but those for whose VMM is_kept returns true. Does nothing without memory. Any
 * thread.
 */
void vmop_guest_maps_retain(struct vmop_guest_maps *maps,
			    bool (*is_kept)(const void *arg, uint32_t vmm_pid), const void *arg);

struct vmop_guest_maps_facts {
	uint32_t n_guests;
	uint64_t n_samples;  /* of guests, that the program has seen */
	uint64_t n_contexts; /* of them written as contexts; the rest stayed perf's own samples */
	uint64_t n_exited;   /* contexts written for the host's work on a vCPU */
	uint64_t n_ring_full;
	uint64_t n_switching;		  /* contexts with VMOP_GUEST_IS_SWITCHING */
	uint64_t gaps[VMOP_GUEST_N_GAPS]; /* contexts by the reason of the first missing part */
	uint64_t cost_ns; /* spent in the program on n_samples and n_exited, by its own clock */
	const char *virtualisation; /* "SVM", "VMX", "PVM", "arm64": static */
};
/* Any thread. */
void vmop_guest_maps_facts(const struct vmop_guest_maps *maps, struct vmop_guest_maps_facts *ret);

#endif
