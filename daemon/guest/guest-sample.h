// SPDX-License-Identifier: GPL-2.0-or-later
/* Samples of passive guests, attributed (guests.h). */
#ifndef VMOP_DAEMON_GUEST_GUEST_SAMPLE_H
#define VMOP_DAEMON_GUEST_GUEST_SAMPLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/host/image.h"
#include "daemon/profile/sample-key.h"
#include "daemon/stack/frames.h"

struct vmop_guest_sample {
	struct vmop_sample_key key; /* complete except for the image and the stack */
	struct vmop_image *image;   /* never NULL; no reference is passed */
	uint64_t offset;
	uint64_t weight_events;
	uint32_t pid;			   /* of the guest's process; 0: idle, or not known */
	struct vmop_stack_frames *callers; /* NULL: no stack was captured */
};

/* A thread of a guest that was blocked with one stack (--off-cpu). */
struct vmop_guest_blocked {
	struct vmop_domain_id domain;
	struct vmop_task_id task; /* 0: its process is not known */
	struct vmop_image *image; /* of the function in which it waits; never NULL */
	uint64_t offset;
	uint32_t pid;
	uint64_t n_samples, ns; /* how often it was seen there, and the time that this stands for */
	struct vmop_stack_frames callers; /* in the kernel, then in user code */
};

#endif
