// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/guest/off-cpu/batch.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"

struct item {
	struct vmop_blocked_thread thread; /* frames is set by get() */
	struct vmop_blocked_time time;
	size_t first_frame;
};

struct vmop_blocked_batch {
	struct item *items;
	size_t n, capacity;
	uint64_t *frames;
	size_t n_frames, frames_capacity;
};

struct vmop_blocked_batch *vmop_blocked_batch_create(void)
{
	return calloc(1, sizeof(struct vmop_blocked_batch));
}

void vmop_blocked_batch_destroy(struct vmop_blocked_batch *batch)
{
	if (!batch)
		return;
	free(batch->items);
	free(batch->frames);
	free(batch);
}

size_t vmop_blocked_batch_n(const struct vmop_blocked_batch *batch)
{
	return batch->n;
}

bool vmop_blocked_batch_add(struct vmop_blocked_batch *batch,
			    const struct vmop_blocked_thread *thread, struct vmop_blocked_time time,
			    size_t *ret)
{
	if (batch->n == VMOP_BLOCKED_STACKS_MAX ||
	    thread->n_frames > VMOP_BLOCKED_FRAMES_MAX - batch->n_frames ||
	    !vmop_array_reserve(batch->items, batch->capacity, batch->n + 1) ||
	    !vmop_array_reserve(batch->frames, batch->frames_capacity,
				batch->n_frames + thread->n_frames))
		return false;
	*ret = batch->n++;
	batch->items[*ret] =
		(struct item){.thread = *thread, .time = time, .first_frame = batch->n_frames};
	memcpy(batch->frames + batch->n_frames, thread->frames,
	       thread->n_frames * sizeof(*thread->frames));
	batch->n_frames += thread->n_frames;
	return true;
}

void vmop_blocked_batch_extend(struct vmop_blocked_batch *batch, size_t i,
			       struct vmop_blocked_time time)
{
	batch->items[i].time.n_samples += time.n_samples;
	batch->items[i].time.ns += time.ns;
}

void vmop_blocked_batch_get(const struct vmop_blocked_batch *batch, size_t i,
			    struct vmop_blocked_thread *ret, struct vmop_blocked_time *ret_time)
{
	const struct item *item = &batch->items[i];
	*ret = item->thread;
	ret->frames = batch->frames + item->first_frame;
	*ret_time = item->time;
}
