// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * A map from pids or tids to pointers. Open addressing in a table of fixed size: an insertion on
 * the per-sample path allocates nothing (uthash grows its buckets), and a look-up reads one cache
 * line.
 */
#ifndef VMOP_DAEMON_HOST_IDMAP_H
#define VMOP_DAEMON_HOST_IDMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vmop_idmap_slot {
	uint32_t id;
	void *value; /* NULL: free */
};

struct vmop_idmap {
	struct vmop_idmap_slot *slots;
	uint32_t mask, shift; /* of the table, whose size is a power of two */
	uint32_t n, max;
};

/* Make an empty map with room for max ids. Return false without memory. */
bool vmop_idmap_init(struct vmop_idmap *map, uint32_t max);
void vmop_idmap_deinit(struct vmop_idmap *map);

static inline uint32_t vmop_idmap_home(const struct vmop_idmap *map, uint32_t id)
{
	return (id * 0x9e3779b1u) >> map->shift; /* Fibonacci hashing: Knuth, TAOCP 6.4 */
}

/* Return the value of id, or NULL. */
static inline void *vmop_idmap_get(const struct vmop_idmap *map, uint32_t id)
{
	for (uint32_t i = vmop_idmap_home(map, id); map->slots[i].value; i = (i + 1) & map->mask)
		if (map->slots[i].id == id)
			return map->slots[i].value;
	return NULL;
}

/* Set the value of id, which is not NULL. Return false if the map is full. */
bool vmop_idmap_put(struct vmop_idmap *map, uint32_t id, void *value);
void vmop_idmap_remove(struct vmop_idmap *map, uint32_t id);

/*
 * Return the next value and advance *i, which starts at 0. NULL: no more values. The map must not
 * change between two calls.
 */
void *vmop_idmap_next(const struct vmop_idmap *map, uint32_t *i);

#endif
