// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/host/regions.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/host/image.h"

void vmop_regions_unref(struct vmop_regions *regions, struct vmop_images *images,
			struct vmop_regions_budget *budget)
{
	if (!regions || --regions->refs)
		return;
	for (uint32_t i = 0; i < regions->n; i++)
		vmop_image_unref(images, regions->at[i].image);
	budget->n -= regions->capacity;
	free(regions);
}

/* Return the index of the first region that ends beyond address. */
static uint32_t first_ending_after(const struct vmop_regions *regions, uint64_t address)
{
	uint32_t low = 0, high = regions->n;
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (regions->at[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct vmop_region *vmop_regions_find(struct vmop_regions *regions, uint64_t address)
{
	if (!regions)
		return NULL;
	uint32_t i = regions->last;
	if (i >= regions->n || address < regions->at[i].start || address >= regions->at[i].end)
		i = first_ending_after(regions, address);
	if (i == regions->n || regions->at[i].start > address)
		return NULL;
	regions->last = i;
	return &regions->at[i];
}

/* Make *regions unshared, with room for n regions. Return false if there is no room. */
static bool make_room(struct vmop_regions **regions, uint32_t n, struct vmop_images *images,
		      struct vmop_regions_budget *budget)
{
	struct vmop_regions *old = *regions;
	if (old && old->refs == 1 && n <= old->capacity)
		return true;
	uint32_t capacity = 8;
	while (capacity < n)
		capacity += capacity / 2;
	if (capacity > VMOP_REGIONS_MAX)
		capacity = VMOP_REGIONS_MAX;
	if (n > VMOP_REGIONS_MAX || budget->n + capacity > budget->max)
		return false;
	struct vmop_regions *copy = malloc(sizeof(*copy) + capacity * sizeof(copy->at[0]));
	if (!copy)
		return false;
	copy->refs = 1;
	copy->last = 0;
	copy->capacity = capacity;
	copy->n = old ? old->n : 0;
	copy->is_cut = old && old->is_cut;
	copy->version = old ? old->version : 0;
	copy->replaced_version = old ? old->replaced_version : ++budget->version;
	for (uint32_t i = 0; i < copy->n; i++) {
		copy->at[i] = old->at[i];
		vmop_image_ref(copy->at[i].image);
	}
	budget->n += capacity;
	vmop_regions_unref(old, images, budget);
	*regions = copy;
	return true;
}

/* Return whether both regions give the same meaning to the same address. */
static bool mean_the_same(const struct vmop_region *a, const struct vmop_region *b)
{
	return a->start - a->offset == b->start - b->offset &&
	       vmop_image_canonical(a->image) == vmop_image_canonical(b->image);
}

/* Note the change that region makes in the place of [first, last). */
static void set_version(struct vmop_regions *regions, uint32_t first, uint32_t last,
			const struct vmop_region *region, struct vmop_regions_budget *budget)
{
	bool replaces = false;
	for (uint32_t i = first; i < last; i++)
		replaces |= !mean_the_same(&regions->at[i], region);
	bool is_known = last == first + 1 && !replaces &&
			regions->at[first].start <= region->start &&
			regions->at[first].end >= region->end;
	if (is_known)
		return;
	regions->version = ++budget->version;
	if (replaces)
		regions->replaced_version = regions->version;
}

void vmop_regions_insert(struct vmop_regions **regions, const struct vmop_region *region,
			 struct vmop_images *images, struct vmop_regions_budget *budget)
{
	/* One more for the new region, and one more if it splits another. */
	if (region->start >= region->end ||
	    !make_room(regions, (*regions ? (*regions)->n : 0) + 2, images, budget)) {
		if (*regions && region->start < region->end) {
			(*regions)->is_cut = true;
			(*regions)->version = (*regions)->replaced_version = ++budget->version;
		}
		budget->n_refused++;
		vmop_image_unref(images, region->image);
		return;
	}
	struct vmop_regions *own = *regions;
	uint32_t first = first_ending_after(own, region->start), last = first;
	while (last < own->n && own->at[last].start < region->end)
		last++;
	set_version(own, first, last, region, budget);
	struct vmop_region put[3];
	uint32_t n_put = 0;
	if (first < last && own->at[first].start < region->start) {
		put[n_put] = own->at[first];
		put[n_put++].end = region->start;
	}
	put[n_put++] = *region;
	if (first < last && own->at[last - 1].end > region->end) {
		struct vmop_region rest = own->at[last - 1];
		rest.offset += region->end - rest.start;
		rest.start = region->end;
		put[n_put++] = rest;
	}
	for (uint32_t i = 0; i < n_put; i++)
		if (put[i].start != region->start) /* the reference of region is the caller's */
			vmop_image_ref(put[i].image);
	for (uint32_t i = first; i < last; i++)
		vmop_image_unref(images, own->at[i].image);
	memmove(&own->at[first + n_put], &own->at[last], (own->n - last) * sizeof(own->at[0]));
	memcpy(&own->at[first], put, n_put * sizeof(put[0]));
	own->n = own->n - (last - first) + n_put;
}
