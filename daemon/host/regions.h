// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The executable mappings of an address space, sorted and without overlap. A forked child shares
 * its parent's regions until one of them changes its mappings.
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
	uint32_t last; /* the region of the last look-up, likely the next one */
	bool is_cut;   /* there were more than VMOP_REGIONS_MAX */
	/*
	 * version: of the last change. replaced_version: of the last change after which an address
	 * had another meaning than before; a new address space begins with one. Versions ascend
	 * over all address spaces.
	 */
	uint64_t version, replaced_version;
	struct vmop_region at[];
};

/* The limit of one address space. It stops a JIT compiler that maps single pages. */
#define VMOP_REGIONS_MAX 4096

/* The number of regions in all, which bounds their memory. */
struct vmop_regions_budget {
	size_t n, max;
	uint64_t n_refused; /* mappings that did not fit */
	uint64_t version;   /* the last one given */
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

/* Return the region that contains address, or NULL. regions may be NULL. */
const struct vmop_region *vmop_regions_find(struct vmop_regions *regions, uint64_t address);

/*
 * Insert region in the place of earlier mappings there, and take over its image reference. *regions
 * may be NULL. If it is shared, *regions becomes a copy. Without room, the addresses
 * stay unmapped and is_cut is set.
 */
void vmop_regions_insert(struct vmop_regions **regions, const struct vmop_region *region,
			 struct vmop_images *images, struct vmop_regions_budget *budget);

#endif
