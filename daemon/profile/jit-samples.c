// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/profile/jit-samples.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "libutil/cleanup.h"

/* A sample in the buffer. Its callers follow. */
struct item {
	struct vmop_stack_sample sample;
	uint64_t process_start_ns;
	struct vmop_image *image; /* of the sample, referenced, as those of the callers are */
	uint32_t pid;
	uint32_t n; /* callers */
	uint8_t end;
	bool has_stack;
	struct vmop_stack_caller callers[];
};

struct vmop_jit_samples {
	struct vmop_jit_samples_options options;
	uint8_t *buffer;
	size_t size_bytes, used_bytes, n, n_places;
	struct vmop_stack_frames frames; /* of the sample that is being released */
};

struct vmop_error *vmop_jit_samples_create(const struct vmop_jit_samples_options *options,
					   size_t size_bytes, struct vmop_jit_samples **ret)
{
	struct vmop_jit_samples *samples = calloc(1, sizeof(*samples));
	if (!samples)
		return &vmop_error_no_memory;
	/* Its pages are used when samples wait. */
	void *buffer = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (buffer == MAP_FAILED) {
		free(samples);
		return vmop_error_os(errno, "the queue of samples in generated code");
	}
	samples->options = *options;
	samples->buffer = buffer;
	samples->size_bytes = size_bytes;
	*ret = samples;
	return NULL;
}

static size_t item_bytes(size_t n_callers)
{
	return sizeof(struct item) + n_callers * sizeof(struct vmop_stack_caller);
}

static struct item *item_at(struct vmop_jit_samples *samples, size_t at)
{
	return (struct item *)(samples->buffer + at);
}

static void unref_images(struct vmop_jit_samples *samples, const struct item *item)
{
	vmop_image_unref(samples->options.images, item->image);
	for (uint32_t i = 0; i < item->n; i++)
		vmop_image_unref(samples->options.images, item->callers[i].image);
}

void vmop_jit_samples_destroy(struct vmop_jit_samples *samples)
{
	if (!samples)
		return;
	for (size_t at = 0; at < samples->used_bytes; at += item_bytes(item_at(samples, at)->n))
		unref_images(samples, item_at(samples, at));
	munmap(samples->buffer, samples->size_bytes);
	free(samples);
}

static bool is_generated(const struct vmop_image *image)
{
	return image->kind == VMOP_IMAGE_ANON;
}

bool vmop_jit_samples_add(struct vmop_jit_samples *samples, const struct vmop_stack_sample *sample,
			  const struct vmop_process *process,
			  const struct vmop_stack_frames *frames)
{
	struct vmop_image *image = samples->options.images->slots[sample->key.image.at];
	size_t n = frames ? frames->n : 0, n_places = is_generated(image);
	for (size_t i = 0; i < n; i++)
		n_places += is_generated(frames->at[i].image);
	if (!n_places || item_bytes(n) > samples->size_bytes - samples->used_bytes)
		return false;
	struct item *item = item_at(samples, samples->used_bytes);
	/* Byte by byte, because the padding of the key is hashed later. */
	memcpy(&item->sample, sample, sizeof(*sample));
	item->process_start_ns = process->start_ns;
	item->image = vmop_image_ref(image);
	item->pid = process->pid;
	item->n = (uint32_t)n;
	item->end = frames ? (uint8_t)frames->end : 0;
	item->has_stack = frames != NULL;
	for (size_t i = 0; i < n; i++) {
		item->callers[i] = frames->at[i];
		vmop_image_ref(frames->at[i].image);
	}
	samples->used_bytes += item_bytes(n);
	samples->n_places += n_places;
	samples->n++;
	return true;
}

static struct vmop_jit_place place_of(const struct item *item, struct vmop_image *image,
				      uint64_t offset)
{
	return (struct vmop_jit_place){.time_ns = item->sample.time_ns,
				       .process_start_ns = item->process_start_ns,
				       .pid = item->pid,
				       .image = image,
				       .offset = offset};
}

/* Look up all places in generated code. Without memory they stay addresses. */
static struct vmop_jit_place *resolve(struct vmop_jit_samples *samples, bool is_last)
{
	struct vmop_jit_place *places = calloc(samples->n_places, sizeof(*places));
	size_t n = 0;
	if (!places)
		return NULL;
	for (size_t at = 0; at < samples->used_bytes; at += item_bytes(item_at(samples, at)->n)) {
		const struct item *item = item_at(samples, at);
		if (is_generated(item->image))
			places[n++] = place_of(item, item->image, item->sample.offset);
		for (uint32_t i = 0; i < item->n; i++)
			if (is_generated(item->callers[i].image))
				places[n++] = place_of(item, item->callers[i].image,
						       item->callers[i].offset);
	}
	vmop_jitdumps_resolve(samples->options.jitdumps, places, n, is_last);
	return places;
}

/* Release a sample, whose places in generated code are from *places on. Return the next place. */
static const struct vmop_jit_place *release_item(struct vmop_jit_samples *samples,
						 struct item *item,
						 const struct vmop_jit_place *places)
{
	struct vmop_stack_frames *frames = &samples->frames;
	if (places && is_generated(item->image)) {
		item->sample.key.image = places->image->slot;
		item->sample.offset = places++->offset;
	}
	frames->n = item->n;
	frames->end = item->end;
	frames->lacks = 0;
	for (uint32_t i = 0; i < item->n; i++) {
		frames->at[i] = item->callers[i];
		if (!places || !is_generated(item->callers[i].image))
			continue;
		frames->at[i].image = places->image;
		frames->at[i].offset = places++->offset;
	}
	samples->options.release(samples->options.arg, &item->sample, item->pid,
				 item->has_stack ? frames : NULL);
	unref_images(samples, item);
	return places;
}

void vmop_jit_samples_release(struct vmop_jit_samples *samples, bool is_last)
{
	if (!samples->n)
		return;
	_cleanup_free_ struct vmop_jit_place *places = resolve(samples, is_last);
	const struct vmop_jit_place *next_place = places;
	for (size_t at = 0; at < samples->used_bytes; at += item_bytes(item_at(samples, at)->n))
		next_place = release_item(samples, item_at(samples, at), next_place);
	/* Give back the pages, unless they are few. */
	if (samples->used_bytes > samples->size_bytes / 64)
		madvise(samples->buffer, samples->size_bytes, MADV_DONTNEED);
	samples->used_bytes = samples->n = samples->n_places = 0;
}

size_t vmop_jit_samples_n(const struct vmop_jit_samples *samples)
{
	return samples->n;
}

bool vmop_jit_samples_want_flush(const struct vmop_jit_samples *samples)
{
	return samples->used_bytes > samples->size_bytes / 4 * 3;
}
