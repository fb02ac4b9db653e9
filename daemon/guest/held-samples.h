// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A queue of held samples, in the order in which they came.  Each is a record of fixed size. Its
 * callers, of any number, and what it keeps of its context are in buffers beside the records.
 *
 * Memory is allocated only between samples, by vmop_held_samples_reserve.
 */
#ifndef VMOP_DAEMON_GUEST_HELD_SAMPLES_H
#define VMOP_DAEMON_GUEST_HELD_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "daemon/guest/context/page-key.h"
#include "libdb/db.h"

struct vmop_domain;

/* The part of its context (vmop/guest-context.h) that a held sample keeps. */
struct vmop_held_context {
	struct vmop_guest_page_key page; /* with VMOP_GUEST_HAS_PAGE */
	uint64_t generation;		 /* of the kernel */
	uint64_t page_table, gpa;
	uint64_t task, start_time_ns;
	uint32_t parts; /* enum vmop_guest_part */
	uint32_t pid;
	char comm[16]; /* ends with a 0 */
};

struct vmop_held_sample {
	struct vmop_db_chunk_key key; /* task, image and certainty are set at the release */
	struct vmop_domain *domain;
	uint64_t ip, time_ns, weight_events; /* time_ns: CLOCK_MONOTONIC */
	int32_t vcpu;			     /* -1: not known */
	/* The frames are the callers, packed (vmop/guest-frame.h). */
	bool has_stack;
	uint8_t stack_end; /* enum vmop_stack_end */
	bool is_likely;	   /* struct vmop_guest_callers */
	uint32_t n_frames;
	/* Set by vmop_held_samples_add: indices into the buffers. */
	size_t first_frame;
	uint32_t context; /* VMOP_HELD_NO_CONTEXT: none */
};

#define VMOP_HELD_NO_CONTEXT UINT32_MAX

/* Zeroed: empty, without room. */
struct vmop_held_samples {
	struct vmop_held_sample *at;
	size_t n, capacity;
	uint64_t *frames; /* of callers, innermost first; each sample's follow each other */
	size_t n_frames, frame_capacity;
	struct vmop_held_context *contexts;
	size_t n_contexts, context_capacity;
};

void vmop_held_samples_deinit(struct vmop_held_samples *held);

/*
 * Make room for n samples, n_contexts contexts and n_frames frames in all.  False: out of memory.
 * Held samples stay in either case.
 */
bool vmop_held_samples_reserve(struct vmop_held_samples *held, size_t n, size_t n_contexts,
			       size_t n_frames);

/*
 * Append a copy of sample with its context (NULL: none) and its n_frames frames, which may be NULL
 * if there are none. Frames for which there is no room are left out, and the stack ends with
 * VMOP_STACK_TOO_MANY. False: no room for the sample or its context, and nothing has changed.  For
 * the per-sample path: it does not allocate.
 */
bool vmop_held_samples_add(struct vmop_held_samples *held, const struct vmop_held_sample *sample,
			   const struct vmop_held_context *context, const uint64_t *frames);

/*
 * Call release for each sample in order, with its context (NULL: none) and its frames.  Those for
 * which it returns false stay in the queue, in their order.  release must not change the queue.
 */
void vmop_held_samples_release(struct vmop_held_samples *held,
			       bool (*release)(void *arg, const struct vmop_held_sample *sample,
					       const struct vmop_held_context *context,
					       const uint64_t *frames),
			       void *arg);

#endif
