// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/group.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "libutil/array.h"
#include "libutil/hash-seed.h"
#include "opreport/query/tally.h"

enum { FIRST_CAPACITY = 256 };

static size_t slot_of(const struct vmop_groups *groups, const struct vmop_group *group)
{
	size_t mask = groups->n_buckets - 1;
	size_t at = XXH3_64bits_withSeed(group, sizeof(*group), vmop_hash_seed()) & mask;
	while (groups->buckets[at] &&
	       memcmp(&groups->items[groups->buckets[at] - 1], group, sizeof(*group)) != 0)
		at = (at + 1) & mask;
	return at;
}

static struct vmop_error *grow(struct vmop_groups *groups)
{
	size_t wanted = groups->n ? groups->n * 2 : FIRST_CAPACITY;
	if (!vmop_array_reserve(groups->items, groups->capacity, wanted))
		return &vmop_error_no_memory;
	uint32_t *buckets = calloc(wanted * 2, sizeof(*buckets));
	if (!buckets)
		return &vmop_error_no_memory;
	free(groups->buckets);
	groups->buckets = buckets;
	groups->n_buckets = wanted * 2;
	for (size_t i = 0; i < groups->n; i++)
		buckets[slot_of(groups, &groups->items[i])] = (uint32_t)(i + 1);
	return NULL;
}

struct vmop_error *vmop_groups_intern(struct vmop_groups *groups, const struct vmop_group *group,
				      uint32_t *ret)
{
	if (groups->n * 2 == groups->n_buckets && groups->n < VMOP_GROUPS_MAX) {
		struct vmop_error *err = grow(groups);
		if (err)
			return err;
	}
	size_t at = slot_of(groups, group);
	if (!groups->buckets[at] && groups->n == VMOP_GROUPS_MAX) {
		*ret = VMOP_NO_GROUP;
		return NULL;
	}
	if (!groups->buckets[at]) {
		groups->items[groups->n] = *group;
		groups->buckets[at] = (uint32_t)++groups->n;
	}
	*ret = groups->buckets[at] - 1;
	return NULL;
}

void vmop_groups_deinit(struct vmop_groups *groups)
{
	free(groups->items);
	free(groups->buckets);
	*groups = (struct vmop_groups){0};
}
