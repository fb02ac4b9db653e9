// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The executable mappings of an address space, sorted and without overlap.  A
 * forked child shares its parent's until one of them maps something.
 */
#ifndef VMOP_DAEMON_HOST_REGIONS_H
#define VMOP_DAEMON_HOST_REGIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vmop_image;
struct vmop_images;

struct vmop_region {
	uint64_t start, end;
	uint64_t offset;	  /* in the image, of start */
	struct vmop_image *image; /* referenced */
};

struct vmop_regions {
	uint32_t refs, n, capacity;
	uint32_t last; /* the region of the last look-up: most are like it */
	bool is_cut;   /* there were more than VMOP_REGIONS_MAX */
	struct vmop_region at[];
};

/* In one address space: a JIT that maps page after page ends here. */
#define VMOP_REGIONS_MAX 4096

/* How many there may be in all, which bounds the memory they take. */
struct vmop_regions_budget {
	size_t n, max;
	uint64_t n_refused; /* mappings that there was no room for */
};

static inline struct vmop_regions *vmop_regions_ref(struct vmop_regions *regions)
{
	if (regions)
		regions->refs++;
	return regions;
}
/* NULL is allowed. */
void vmop_regions_unref(struct vmop_regions *regions, struct vmop_images *images,
			struct vmop_regions_budget *budget);

/* The region that holds address; NULL: none.  regions may be NULL. */
const struct vmop_region *vmop_regions_find(struct vmop_regions *regions, uint64_t address);

/*
 * Puts region, whose image reference is taken over, over whatever was mapped
 * there.  *regions may be NULL; if others share it, *regions becomes a copy.  When
 * there is no room, the space is left unmapped and is_cut set.
 */
void vmop_regions_insert(struct vmop_regions **regions, const struct vmop_region *region,
			 struct vmop_images *images, struct vmop_regions_budget *budget);

#endif
