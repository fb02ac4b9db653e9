// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The owner's side of unwind-maps.h and guest-maps.h: bpf/program.c makes the maps and removes
 * them.
 */
#ifndef VMOP_HV_INTERFACE_BPF_MAPS_H
#define VMOP_HV_INTERFACE_BPF_MAPS_H

#include "hv-interface/bpf/guest-maps.h"
#include "hv-interface/bpf/layout.h"
#include "hv-interface/bpf/unwind-maps.h"
#include "libutil/error.h"

/* Descriptors of the maps in bpf/unwind.bpf.h. The caller keeps them open. */
struct vmop_unwind_maps_fds {
	int processes, mappings, tables, outcomes;
};

/* Make the user's side of empty maps. Free with vmop_unwind_maps_destroy. */
struct vmop_error *vmop_unwind_maps_create(const struct vmop_unwind_maps_fds *fds,
					   struct vmop_unwind_maps **ret);
void vmop_unwind_maps_destroy(struct vmop_unwind_maps *maps); /* NULL is allowed */

/* Set ret[i] to the number of samples with outcome i until now, over all CPUs. Any thread. */
void vmop_unwind_maps_outcomes(const struct vmop_unwind_maps *maps,
			       uint64_t ret[VMOP_BPF_N_OUTCOMES]);

/* Descriptors of the maps in bpf/guest.bpf.h. The caller keeps them open. */
struct vmop_guest_maps_fds {
	int guests, counts, vmm_filter;
};

/*
 * Make the user's side of empty maps. virtualisation, a static string, is the facts' one. Free with
 * vmop_guest_maps_destroy.
 */
struct vmop_error *vmop_guest_maps_create(const struct vmop_guest_maps_fds *fds,
					  const char *virtualisation, struct vmop_guest_maps **ret);
void vmop_guest_maps_destroy(struct vmop_guest_maps *maps); /* NULL is allowed */

#endif
