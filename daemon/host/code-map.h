// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What lies where in a kernel's text: the kernel itself, modules, BPF programs,
 * trampolines.  The host has one, and so has each guest whose kernel is known.
 */
#ifndef VMOP_DAEMON_HOST_CODE_MAP_H
#define VMOP_DAEMON_HOST_CODE_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vmop_image;
struct vmop_images;

/* More pieces of kernel text than any kernel has; the rest is unknown kernel text. */
#define VMOP_TEXT_MAP_MAX 65536

struct vmop_text_piece {
	uint64_t start, end;
	struct vmop_image *image; /* referenced; offsets count from its base */
};

struct vmop_text_map {
	struct vmop_text_piece *at; /* sorted, without overlap */
	size_t n, capacity;
	size_t last; /* the piece of the last look-up: most are like it */
};

void vmop_text_map_deinit(struct vmop_text_map *map, struct vmop_images *images);

/* The index of the first piece that ends beyond address. */
size_t vmop_text_map_first_after(const struct vmop_text_map *map, uint64_t address);

/* NULL: nothing known is there. */
static inline struct vmop_image *vmop_text_map_find(struct vmop_text_map *map, uint64_t address)
{
	if (map->last < map->n && address >= map->at[map->last].start &&
	    address < map->at[map->last].end)
		return map->at[map->last].image;
	size_t i = vmop_text_map_first_after(map, address);
	if (i == map->n || map->at[i].start > address)
		return NULL;
	map->last = i;
	return map->at[i].image;
}

/*
 * Puts a piece, whose image reference is taken over.  What begins before it ends
 * where it begins; what begins in it is gone.  False: there is no room, and
 * nothing has changed but the reference.
 */
bool vmop_text_map_put(struct vmop_text_map *map, struct vmop_images *images,
		       const struct vmop_text_piece *piece);

/* Removes the pieces that lie in [start, end) altogether. */
void vmop_text_map_remove(struct vmop_text_map *map, struct vmop_images *images, uint64_t start,
			  uint64_t end);

#endif
