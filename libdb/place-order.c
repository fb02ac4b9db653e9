// SPDX-License-Identifier: GPL-2.0-or-later
#include "libdb/place-order.h"

#include <stdlib.h>

#include "libdb/db.h"

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

/* Compare by image first; the rest groups equal places and makes the order deterministic. */
static int compare_places(const struct vmop_place *x, const struct vmop_place *y, unsigned merge)
{
	const struct vmop_db_chunk_key *a = &x->key, *b = &y->key;
	int order = compare_u64(a->image.number, b->image.number);
	if (!order)
		order = compare_u64(a->domain.number, b->domain.number);
	if (!order)
		order = compare_u64(a->event.number, b->event.number);
	if (!order)
		order = compare_u64(a->billed.number, b->billed.number);
	if (!order)
		order = compare_u64((uint64_t)a->bill << 16 | a->mode << 8 | a->certainty,
				    (uint64_t)b->bill << 16 | b->mode << 8 | b->certainty);
	if (!order && !(merge & VMOP_DB_MERGE_CPUS))
		order = compare_u64((uint64_t)(uint32_t)a->vcpu << 32 | (uint32_t)a->cpu,
				    (uint64_t)(uint32_t)b->vcpu << 32 | (uint32_t)b->cpu);
	return order;
}

struct ordering {
	const struct vmop_place *places;
	unsigned merge;
};

static int compare_indices(const void *a, const void *b, void *arg)
{
	const struct ordering *ordering = arg;
	uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	int order = compare_places(&ordering->places[x], &ordering->places[y], ordering->merge);
	return order ? order : compare_u64(x, y);
}

struct vmop_error *vmop_places_order(const struct vmop_selection *selection, unsigned merge,
				     uint32_t **ret)
{
	struct ordering ordering = {.places = selection->places, .merge = merge};
	uint32_t *order = malloc((selection->n_places + 1) * sizeof(*order));
	if (!order)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < selection->n_places; i++)
		order[i] = (uint32_t)i;
	qsort_r(order, selection->n_places, sizeof(*order), compare_indices, &ordering);
	*ret = order;
	return NULL;
}

void vmop_places_group(const struct vmop_selection *selection, const uint32_t *order,
		       unsigned merge, uint32_t *groups, uint32_t *ranks)
{
	const struct vmop_place *places = selection->places;
	for (size_t i = 0; i < selection->n_places; i++) {
		bool same = i > 0 &&
			    compare_places(&places[order[i - 1]], &places[order[i]], merge) == 0;
		groups[order[i]] = same ? groups[order[i - 1]] : order[i];
		ranks[order[i]] = (uint32_t)i;
	}
}
