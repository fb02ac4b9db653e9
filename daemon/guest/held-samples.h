// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A queue of held samples, in the order in which they came.  Each is a record of fixed size; its
 * callchain, which has any length, is in a buffer beside the records.
 *
 * Memory is allocated only between samples, by vmop_held_samples_reserve.
 */
#ifndef VMOP_DAEMON_GUEST_HELD_SAMPLES_H
#define VMOP_DAEMON_GUEST_HELD_SAMPLES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libdb/db.h"

struct vmop_domain;

struct vmop_held_sample {
	struct vmop_db_chunk_key key; /* task, image and certainty are set at the release */
	struct vmop_domain *domain;
	uint64_t ip, time_ns, weight_events; /* time_ns: CLOCK_MONOTONIC */
	int32_t vcpu;			     /* -1: not known */
	uint32_t n_frames;
	size_t first_frame; /* set by vmop_held_samples_add: an index into the buffer of frames */
};

/* Zeroed: empty, without room. */
struct vmop_held_samples {
	struct vmop_held_sample *at;
	size_t n, capacity;
	uint64_t *frames; /* return addresses, innermost first; each sample's follow each other */
	size_t n_frames, frame_capacity;
};

void vmop_held_samples_deinit(struct vmop_held_samples *held);

/*
 * Make room for n samples and n_frames frames in all.  False: out of memory.  Held samples stay in
 * either case.
 */
bool vmop_held_samples_reserve(struct vmop_held_samples *held, size_t n, size_t n_frames);

/*
 * Append a copy of sample with its n_frames frames, which may be NULL if there are none.  False:
 * no room, and nothing has changed.  For the per-sample path: it does not allocate.
 */
bool vmop_held_samples_add(struct vmop_held_samples *held, const struct vmop_held_sample *sample,
			   const uint64_t *frames);

/*
 * Call release for each sample in order, with its frames.  Those for which it returns false stay
 * in the queue, in their order.  release must not change the queue.
 */
void vmop_held_samples_release(struct vmop_held_samples *held,
			       bool (*release)(void *arg, const struct vmop_held_sample *sample,
					       const uint64_t *frames),
			       void *arg);

#endif
