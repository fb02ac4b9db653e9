// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/host/text-map.h"

#include <stdlib.h>
#include <string.h>

#include "daemon/host/image.h"
#include "libutil/array.h"

void vmop_text_map_deinit(struct vmop_text_map *map, struct vmop_images *images)
{
	for (size_t i = 0; i < map->n; i++)
		vmop_image_unref(images, map->at[i].image);
	free(map->at);
	*map = (struct vmop_text_map){0};
}

size_t vmop_text_map_first_after(const struct vmop_text_map *map, uint64_t address)
{
	size_t low = 0, high = map->n;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (map->at[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool make_room(struct vmop_text_map *map)
{
	return map->n < VMOP_TEXT_MAP_MAX && vmop_array_reserve(map->at, map->capacity, map->n + 1);
}

/* Remove the pieces [first, last). */
static void cut(struct vmop_text_map *map, struct vmop_images *images, size_t first, size_t last)
{
	for (size_t i = first; i < last; i++)
		vmop_image_unref(images, map->at[i].image);
	if (map->n > last)
		memmove(&map->at[first], &map->at[last], (map->n - last) * sizeof(map->at[0]));
	map->n -= last - first;
	map->last = 0;
}

bool vmop_text_map_put(struct vmop_text_map *map, struct vmop_images *images,
		       const struct vmop_text_piece *piece)
{
	if (piece->start >= piece->end || !make_room(map)) {
		vmop_image_unref(images, piece->image);
		return false;
	}
	size_t first = vmop_text_map_first_after(map, piece->start);
	if (first < map->n && map->at[first].start < piece->start)
		map->at[first++].end = piece->start;
	size_t last = first;
	while (last < map->n && map->at[last].start < piece->end)
		last++;
	cut(map, images, first, last);
	memmove(&map->at[first + 1], &map->at[first], (map->n - first) * sizeof(map->at[0]));
	map->at[first] = *piece;
	map->n++;
	return true;
}

void vmop_text_map_remove(struct vmop_text_map *map, struct vmop_images *images, uint64_t start,
			  uint64_t end)
{
	size_t first = vmop_text_map_first_after(map, start), last = first;
	while (first < map->n && map->at[first].start < start)
		first++;
	for (last = first; last < map->n && map->at[last].end <= end;)
		last++;
	if (first < last)
		cut(map, images, first, last);
}
