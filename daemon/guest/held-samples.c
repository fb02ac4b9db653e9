// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/held-samples.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "vmop/stack.h"

void vmop_held_samples_deinit(struct vmop_held_samples *held)
{
	free(held->at);
	free(held->frames);
	free(held->contexts);
	*held = (struct vmop_held_samples){0};
}

bool vmop_held_samples_reserve(struct vmop_held_samples *held, size_t n, size_t n_contexts,
			       size_t n_frames)
{
	return vmop_array_reserve(held->at, held->capacity, n) &&
	       (!n_contexts ||
		vmop_array_reserve(held->contexts, held->context_capacity, n_contexts)) &&
	       (!n_frames || vmop_array_reserve(held->frames, held->frame_capacity, n_frames));
}

static void add_frames(struct vmop_held_samples *held, struct vmop_held_sample *to,
		       const uint64_t *frames)
{
	to->first_frame = held->n_frames;
	if (!to->n_frames)
		return;
	memcpy(held->frames + held->n_frames, frames, to->n_frames * sizeof(*frames));
	held->n_frames += to->n_frames;
}

static void add_context(struct vmop_held_samples *held, struct vmop_held_sample *to,
			const struct vmop_held_context *context)
{
	to->context = VMOP_HELD_NO_CONTEXT;
	if (!context)
		return;
	to->context = (uint32_t)held->n_contexts;
	held->contexts[held->n_contexts++] = *context;
}

bool vmop_held_samples_add(struct vmop_held_samples *held, const struct vmop_held_sample *sample,
			   const struct vmop_held_context *context, const uint64_t *frames)
{
	if (held->n == held->capacity || (context && held->n_contexts == held->context_capacity))
		return false;
	struct vmop_held_sample *to = &held->at[held->n];
	bool has_room = sample->n_frames <= held->frame_capacity - held->n_frames;
	held->n++;
	/* Byte by byte, because the padding of the key is hashed later. */
	memcpy(to, sample, sizeof(*to));
	add_context(held, to, context);
	if (!has_room) {
		to->n_frames = 0;
		to->stack_end = VMOP_STACK_TOO_MANY;
	}
	add_frames(held, to, frames);
	return true;
}

/* How much of the buffers the samples take that stay. */
struct kept {
	size_t n, n_frames, n_contexts;
};

/* Move a sample that stays behind those that stay already. */
static void keep(struct vmop_held_samples *held, const struct vmop_held_sample *from,
		 struct kept *kept)
{
	struct vmop_held_sample *to = &held->at[kept->n++];
	memmove(to, from, sizeof(*to));
	if (to->n_frames)
		memmove(held->frames + kept->n_frames, held->frames + to->first_frame,
			to->n_frames * sizeof(*held->frames));
	to->first_frame = kept->n_frames;
	kept->n_frames += to->n_frames;
	if (to->context == VMOP_HELD_NO_CONTEXT)
		return;
	memmove(&held->contexts[kept->n_contexts], &held->contexts[to->context],
		sizeof(*held->contexts));
	to->context = (uint32_t)kept->n_contexts++;
}

void vmop_held_samples_release(struct vmop_held_samples *held,
			       bool (*release)(void *arg, const struct vmop_held_sample *sample,
					       const struct vmop_held_context *context,
					       const uint64_t *frames),
			       void *arg)
{
	struct kept kept = {0};
	for (size_t i = 0; i < held->n; i++) {
		const struct vmop_held_sample *sample = &held->at[i];
		const uint64_t *frames =
			sample->n_frames ? held->frames + sample->first_frame : NULL;
		const struct vmop_held_context *context = sample->context != VMOP_HELD_NO_CONTEXT
								  ? &held->contexts[sample->context]
								  : NULL;
		if (!release(arg, sample, context, frames))
			keep(held, sample, &kept);
	}
	held->n = kept.n;
	held->n_frames = kept.n_frames;
	held->n_contexts = kept.n_contexts;
}
