// SPDX-License-Identifier: GPL-2.0-or-later
/* A sample of a passive guest that was held, attributed (guests.h). */
#ifndef VMOP_DAEMON_GUEST_GUEST_SAMPLE_H
#define VMOP_DAEMON_GUEST_GUEST_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/host/image.h"
#include "daemon/profile/sample-key.h"
#include "vmop/stack.h"

/* A frame of a guest that made a call, or was interrupted. */
struct vmop_guest_caller {
	struct vmop_image *image; /* never NULL; no reference is passed */
	uint64_t offset;
};

/* The callers of sampled code. */
struct vmop_guest_frames {
	struct vmop_guest_caller at[VMOP_STACK_FRAMES_MAX]; /* innermost first */
	size_t n;
	enum vmop_stack_end end;
};

struct vmop_guest_sample {
	struct vmop_sample_key key; /* complete except for the image and the stack */
	struct vmop_image *image;   /* never NULL; no reference is passed */
	uint64_t offset;
	uint64_t weight_events;
	uint32_t pid;				 /* of the guest's process; 0: idle, or not known */
	const struct vmop_guest_frames *callers; /* NULL: no stack was captured */
};

#endif
