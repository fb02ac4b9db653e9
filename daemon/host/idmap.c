// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/host/idmap.h"

#include <stdlib.h>

bool vmop_idmap_init(struct vmop_idmap *map, uint32_t max)
{
	uint32_t bits = 4;
	while ((1u << bits) < 2 * max)
		bits++;
	*map = (struct vmop_idmap){.mask = (1u << bits) - 1, .shift = 32 - bits, .max = max};
	map->slots = calloc((size_t)1 << bits, sizeof(*map->slots));
	return map->slots != NULL;
}

void vmop_idmap_deinit(struct vmop_idmap *map)
{
	free(map->slots);
	map->slots = NULL;
}

bool vmop_idmap_put(struct vmop_idmap *map, uint32_t id, void *value)
{
	uint32_t i = vmop_idmap_home(map, id);
	while (map->slots[i].value && map->slots[i].id != id)
		i = (i + 1) & map->mask;
	if (!map->slots[i].value) {
		if (map->n == map->max)
			return false;
		map->n++;
	}
	map->slots[i] = (struct vmop_idmap_slot){.id = id, .value = value};
	return true;
}

void vmop_idmap_remove(struct vmop_idmap *map, uint32_t id)
{
	uint32_t i = vmop_idmap_home(map, id);
	while (map->slots[i].value && map->slots[i].id != id)
		i = (i + 1) & map->mask;
	if (!map->slots[i].value)
		return;
	map->n--;
	/* Close the gap, so that no probe ends early: Knuth, TAOCP 6.4, algorithm R. */
	for (uint32_t j = (i + 1) & map->mask; map->slots[j].value; j = (j + 1) & map->mask) {
		uint32_t home = vmop_idmap_home(map, map->slots[j].id);
		if (((j - home) & map->mask) < ((j - i) & map->mask))
			continue;
		map->slots[i] = map->slots[j];
		i = j;
	}
	map->slots[i].value = NULL;
}

void *vmop_idmap_next(const struct vmop_idmap *map, uint32_t *i)
{
	while (*i <= map->mask) {
		void *value = map->slots[(*i)++].value;
		if (value)
			return value;
	}
	return NULL;
}
