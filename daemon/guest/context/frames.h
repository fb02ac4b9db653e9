// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Packed frames of guests (vmop/guest-frame.h) become images and offsets.
 *
 * All functions belong to the sampling thread.
 */
#ifndef VMOP_DAEMON_GUEST_CONTEXT_FRAMES_H
#define VMOP_DAEMON_GUEST_CONTEXT_FRAMES_H

#include "daemon/guest/watched.h"

/*
 * Set *ret to the places of n packed frames and to that end. process, whose code the user frames
 * are, may be NULL: they are in the domain's image of unknown user code then. May allocate.
 */
void vmop_guest_resolve_frames(struct vmop_guests *guests, struct vmop_domain *domain,
			       const struct vmop_guest_process *process, const uint64_t *frames,
			       size_t n, enum vmop_stack_end end, struct vmop_stack_frames *ret);

/* Do the same only with images that exist. On the per-sample path. */
void vmop_guest_resolve_known_frames(struct vmop_guests *guests, struct vmop_domain *domain,
				     const struct vmop_guest_process *process,
				     const uint64_t *frames, size_t n, enum vmop_stack_end end,
				     struct vmop_stack_frames *ret);

#endif
