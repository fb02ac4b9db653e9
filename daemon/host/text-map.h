// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The map of a kernel's text: the kernel, modules, BPF programs, trampolines. The host has one, and
 * each guest with a known kernel has one.
 */
#ifndef VMOP_DAEMON_HOST_TEXT_MAP_H
#define VMOP_DAEMON_HOST_TEXT_MAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vmop_image;
struct vmop_images;

/* More pieces than any kernel has. Code beyond is unknown kernel text. */
#define VMOP_TEXT_MAP_MAX 65536

struct vmop_text_piece {
	uint64_t start, end;
	struct vmop_image *image; /* referenced; offsets count from its base */
};

struct vmop_text_map {
	struct vmop_text_piece *at; /* sorted, without overlap */
	size_t n, capacity;
	size_t last; /* the piece of the last look-up, likely the next one */
};

void vmop_text_map_deinit(struct vmop_text_map *map, struct vmop_images *images);

/* Return the index of the first piece that ends beyond address. */
size_t vmop_text_map_first_after(const struct vmop_text_map *map, uint64_t address);

/* Return the image that contains address, or NULL. */
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
 * Insert a piece and take over its image reference. Earlier pieces that begin before it are cut
 * where it begins, and pieces that begin in it are removed. Return false if there is no room: only
 * the reference is released then.
 */
bool vmop_text_map_put(struct vmop_text_map *map, struct vmop_images *images,
		       const struct vmop_text_piece *piece);

/* Remove the pieces that are entirely in [start, end). */
void vmop_text_map_remove(struct vmop_text_map *map, struct vmop_images *images, uint64_t start,
			  uint64_t end);

#endif
