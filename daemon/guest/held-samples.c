// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/held-samples.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"

void vmop_held_samples_deinit(struct vmop_held_samples *held)
{
	free(held->at);
	free(held->frames);
	*held = (struct vmop_held_samples){0};
}

bool vmop_held_samples_reserve(struct vmop_held_samples *held, size_t n, size_t n_frames)
{
	return vmop_array_reserve(held->at, held->capacity, n) &&
	       (!n_frames || vmop_array_reserve(held->frames, held->frame_capacity, n_frames));
}

bool vmop_held_samples_add(struct vmop_held_samples *held, const struct vmop_held_sample *sample,
			   const uint64_t *frames)
{
	if (held->n == held->capacity || sample->n_frames > held->frame_capacity - held->n_frames)
		return false;
	struct vmop_held_sample *to = &held->at[held->n++];
	/* Byte by byte, because the padding of the key is hashed later. */
	memcpy(to, sample, sizeof(*to));
	to->first_frame = held->n_frames;
	if (sample->n_frames)
		memcpy(held->frames + held->n_frames, frames, sample->n_frames * sizeof(*frames));
	held->n_frames += sample->n_frames;
	return true;
}

/* Move a sample that stays behind those that stay already; *n_frames is how many these have. */
static void keep(struct vmop_held_samples *held, struct vmop_held_sample *to,
		 const struct vmop_held_sample *from, size_t *n_frames)
{
	memmove(to, from, sizeof(*to));
	if (to->n_frames)
		memmove(held->frames + *n_frames, held->frames + to->first_frame,
			to->n_frames * sizeof(*held->frames));
	to->first_frame = *n_frames;
	*n_frames += to->n_frames;
}

void vmop_held_samples_release(struct vmop_held_samples *held,
			       bool (*release)(void *arg, const struct vmop_held_sample *sample,
					       const uint64_t *frames),
			       void *arg)
{
	size_t n = 0, n_frames = 0;
	for (size_t i = 0; i < held->n; i++) {
		const struct vmop_held_sample *sample = &held->at[i];
		const uint64_t *frames =
			sample->n_frames ? held->frames + sample->first_frame : NULL;
		if (!release(arg, sample, frames))
			keep(held, &held->at[n++], sample, &n_frames);
	}
	held->n = n;
	held->n_frames = n_frames;
}
