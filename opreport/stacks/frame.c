// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/stacks/frame.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "libutil/array.h"
#include "libutil/hash-seed.h"
#include "libutil/stack-end.h"

enum { FIRST_CAPACITY = 1024 };

_Static_assert(sizeof(struct vmop_frame_key) == 32, "hashed as bytes: no padding");

/* ---- interning ------------------------------------------------------------- */

/* Return the bucket of the key, or the empty one where it belongs. */
static struct vmop_frame_bucket *bucket_of(const struct vmop_frames *frames, uint32_t hash,
					   const struct vmop_frame_key *key)
{
	size_t mask = frames->n_buckets - 1, at = hash & mask;
	for (; frames->buckets[at].number; at = (at + 1) & mask)
		if (frames->buckets[at].hash == hash &&
		    !memcmp(&frames->items[frames->buckets[at].number - 1].key, key, sizeof(*key)))
			break;
	return &frames->buckets[at];
}

static struct vmop_error *grow(struct vmop_frames *frames)
{
	size_t wanted = frames->n ? frames->n * 2 : FIRST_CAPACITY;
	if (!vmop_array_reserve(frames->items, frames->capacity, wanted))
		return &vmop_error_no_memory;
	size_t mask = wanted * 2 - 1;
	struct vmop_frame_bucket *buckets = calloc(mask + 1, sizeof(*buckets));
	if (!buckets)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < frames->n_buckets; i++) {
		size_t at = frames->buckets[i].hash & mask;
		if (!frames->buckets[i].number)
			continue;
		while (buckets[at].number)
			at = (at + 1) & mask;
		buckets[at] = frames->buckets[i];
	}
	free(frames->buckets);
	frames->buckets = buckets;
	frames->n_buckets = mask + 1;
	return NULL;
}

struct vmop_error *vmop_frames_intern(struct vmop_frames *frames, const struct vmop_frame_key *key,
				      uint32_t text_image, uint32_t *ret)
{
	if (frames->n * 2 == frames->n_buckets && frames->n < VMOP_FRAMES_MAX) {
		struct vmop_error *err = grow(frames);
		if (err)
			return err;
	}
	uint32_t hash = (uint32_t)XXH3_64bits_withSeed(key, sizeof(*key), vmop_hash_seed());
	struct vmop_frame_bucket *bucket = bucket_of(frames, hash, key);
	if (!bucket->number && frames->n == VMOP_FRAMES_MAX) {
		*ret = VMOP_NO_FRAME;
		return NULL;
	}
	if (!bucket->number) {
		frames->items[frames->n] =
			(struct vmop_frame){.key = *key, .text_image = text_image};
		*bucket = (struct vmop_frame_bucket){(uint32_t)++frames->n, hash};
	}
	*ret = bucket->number - 1;
	return NULL;
}

void vmop_frames_deinit(struct vmop_frames *frames)
{
	free(frames->items);
	free(frames->buckets);
	*frames = (struct vmop_frames){0};
}

/* ---- names ----------------------------------------------------------------- */

/* Return a text that the result keeps, or "" without memory. */
static const char *keep(struct vmop_result *result, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

static const char *keep(struct vmop_result *result, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	const char *kept = vmop_arena_vformat(&result->catalog.arena, format, args);
	va_end(args);
	return kept ? kept : "";
}

const struct vmop_domain_item *vmop_frame_domain(const struct vmop_result *result,
						 const struct vmop_frame *frame)
{
	const struct vmop_catalog *catalog = &result->catalog;
	uint32_t value = frame->key.value ? frame->key.value - 1 : 0;
	if (vmop_frame_is_code(frame))
		return vmop_catalog_domain(catalog, vmop_frame_image(result, frame)->domain);
	if (frame->key.kind == VMOP_FRAME_DOMAIN)
		return vmop_catalog_domain(catalog, value);
	if (frame->key.kind == VMOP_FRAME_TASK || frame->key.kind == VMOP_FRAME_CGROUP)
		return vmop_catalog_domain(catalog, vmop_catalog_task(catalog, value)->domain);
	return vmop_catalog_domain(catalog, 0);
}

static const char *code_name(struct vmop_result *result, const struct vmop_frame *frame)
{
	const char *image = vmop_image_base_name(vmop_frame_image(result, frame)->name);
	if (frame->key.symbol)
		return vmop_result_name_of(result, frame->key.symbol);
	if (vmop_frame_image(result, frame)->kind == VMOP_IMAGE_NONE)
		return image; /* the reason, in brackets */
	return keep(result, "%s (no symbols)", image);
}

/* Return the name of a group by a number: CPUs and vCPUs are stored as 2 + number, or 1. */
static const char *number_name(struct vmop_result *result, const char *what, uint32_t value)
{
	return value >= 2 ? keep(result, "%s %" PRIu32, what, value - 2)
			  : keep(result, "no %s", what);
}

static const char *group_name(struct vmop_result *result, const struct vmop_frame *frame)
{
	static const char *const certainties[] = {"exact", "likely", "ambiguous"};
	const struct vmop_catalog *catalog = &result->catalog;
	uint32_t value = frame->key.value, index = value ? value - 1 : 0;
	switch (frame->key.kind) {
	case VMOP_FRAME_SESSION:
		return catalog->sessions[index].name;
	case VMOP_FRAME_DOMAIN: {
		const struct vmop_domain_item *domain = vmop_catalog_domain(catalog, index);
		return domain->name ? domain->name : "";
	}
	case VMOP_FRAME_CGROUP: {
		const char *cgroup = vmop_catalog_task(catalog, index)->cgroup;
		return *cgroup ? cgroup : "[unknown]";
	}
	case VMOP_FRAME_TASK:
		return vmop_catalog_task(catalog, index)->comm;
	case VMOP_FRAME_CPU:
		return number_name(result, "cpu", value);
	case VMOP_FRAME_VCPU:
		return number_name(result, "vcpu", value);
	default:
		return certainties[index < VMOP_N_CERTAINTIES ? index : VMOP_CERTAIN_AMBIGUOUS];
	}
}

const char *vmop_frame_name(struct vmop_result *result, struct vmop_frame *frame)
{
	if (frame->name)
		return frame->name;
	if (vmop_frame_is_code(frame))
		frame->name = code_name(result, frame);
	else if (vmop_frame_is_group(frame))
		frame->name = group_name(result, frame);
	else if (frame->key.kind == VMOP_FRAME_END)
		frame->name = keep(result, "[%s]", vmop_stack_end_text(frame->key.value));
	else
		frame->name = frame->key.kind == VMOP_FRAME_DAMAGED ? "[damaged]" : "[left out]";
	return frame->name;
}

const char *vmop_frame_symbol_name(struct vmop_result *result, struct vmop_frame *frame)
{
	if (!vmop_frame_is_code(frame))
		return vmop_frame_name(result, frame);
	if (!frame->symbol_name)
		frame->symbol_name = vmop_result_name_of(result, frame->key.symbol);
	return frame->symbol_name;
}
