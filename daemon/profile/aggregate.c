// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/profile/aggregate.h"

#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"

#define KEYS_AT_FIRST 4096
/* Room for a key and a cell: with their slots, and with the copies while they are stored. */
#define KEY_BYTES (sizeof(struct vmop_sample_key) + 3 * sizeof(uint64_t))
#define CELL_BYTES (sizeof(struct vmop_aggregate_cell) + 2 * sizeof(struct vmop_db_cell) + 8)
/* The most cells that fit in a near cache (512 KiB), where collecting samples costs more. */
#define NEAR_CELLS 16384

_Static_assert(sizeof(struct vmop_sample_key) == 36,
	       "key_hash and key_equals must use every field");

static bool index_init(struct vmop_aggregate_index *index, uint32_t max)
{
	uint32_t size = 16;
	while (size < 2 * max)
		size *= 2;
	index->mask = size - 1;
	index->slots = calloc(size, sizeof(*index->slots));
	return index->slots != NULL;
}

static bool make_tables(struct vmop_aggregate *aggregate)
{
	aggregate->keys = malloc(aggregate->max_keys * sizeof(*aggregate->keys));
	aggregate->cells = malloc(aggregate->max_cells * sizeof(*aggregate->cells));
	return aggregate->keys && aggregate->cells &&
	       index_init(&aggregate->key_index, aggregate->max_keys) &&
	       index_init(&aggregate->cell_index, aggregate->max_cells);
}

/* Return the largest power of two up to max, of which as many elements fit in max_bytes. */
static uint32_t bound(uint32_t max, uint64_t max_bytes, size_t element_bytes)
{
	while (max_bytes && max > KEYS_AT_FIRST && max * element_bytes > max_bytes)
		max /= 2;
	return max;
}

bool vmop_aggregate_init(struct vmop_aggregate *aggregate, uint32_t n_cells, uint32_t keys_bound,
			 uint64_t max_bytes)
{
	*aggregate = (struct vmop_aggregate){
		.max_keys = KEYS_AT_FIRST,
		.max_cells = n_cells,
		.keys_bound = bound(keys_bound, max_bytes / 3, KEY_BYTES),
		.cells_bound = bound(VMOP_AGGREGATE_CELLS_MAX, max_bytes / 3 * 2, CELL_BYTES)};
	return make_tables(aggregate);
}

void vmop_aggregate_deinit(struct vmop_aggregate *aggregate)
{
	free(aggregate->keys);
	free(aggregate->cells);
	free(aggregate->key_index.slots);
	free(aggregate->cell_index.slots);
	*aggregate = (struct vmop_aggregate){0};
}

/*
 * Hash a key field by field.  The fields were just written one by one: reading them as larger words
 * would wait until those writes reach the cache.
 */
static uint32_t key_hash(const struct vmop_sample_key *key)
{
	const uint64_t multiplier = 0x9e3779b97f4a7c15ull;
	uint64_t where = (uint64_t)key->task.number << 32 | key->image.at;
	uint64_t whose = (uint64_t)key->billed.number << 40 | (uint64_t)key->domain.number << 20 |
			 (uint64_t)key->event.number << 12 | (uint64_t)key->certainty << 8 |
			 (uint64_t)key->bill << 4 | key->mode;
	uint64_t rest = (uint64_t)(uint32_t)key->vcpu << 32 ^ (uint64_t)(uint32_t)key->cpu << 8 ^
			key->stack.number;
	uint64_t hash = where * multiplier;
	hash = (hash ^ hash >> 32 ^ whose) * multiplier;
	hash = (hash ^ hash >> 32 ^ rest) * multiplier;
	return (uint32_t)(hash >> 32);
}

static bool key_equals(const struct vmop_sample_key *a, const struct vmop_sample_key *b)
{
	return a->task.number == b->task.number && a->image.at == b->image.at &&
	       a->mode == b->mode && a->cpu == b->cpu && vmop_event_id_equals(a->event, b->event) &&
	       vmop_domain_id_equals(a->domain, b->domain) &&
	       vmop_domain_id_equals(a->billed, b->billed) && a->bill == b->bill &&
	       a->certainty == b->certainty && a->vcpu == b->vcpu &&
	       vmop_stack_id_equals(a->stack, b->stack);
}

/* Return the index of key, which is added if it is missing; UINT32_MAX: no room. */
static uint32_t intern_new(struct vmop_aggregate *aggregate, const struct vmop_sample_key *key)
{
	const struct vmop_aggregate_index *index = &aggregate->key_index;
	uint32_t i = key_hash(key) & index->mask;
	for (; index->slots[i]; i = (i + 1) & index->mask)
		if (key_equals(key, &aggregate->keys[index->slots[i] - 1]))
			return index->slots[i] - 1;
	if (aggregate->n_keys == aggregate->max_keys)
		return UINT32_MAX;
	aggregate->keys[aggregate->n_keys] = *key;
	index->slots[i] = ++aggregate->n_keys;
	return aggregate->n_keys - 1;
}

/* Do the same; usually without a hash, and without a slot that is in no near cache. */
static uint32_t intern(struct vmop_aggregate *aggregate, const struct vmop_sample_key *key)
{
	uint32_t spread = 5 * key->task.number + 3 * key->image.at + key->event.number * 16 +
			  (uint32_t)key->cpu;
	uint32_t *recent = &aggregate->recent[spread % VMOP_AGGREGATE_RECENT];
	if (*recent && key_equals(key, &aggregate->keys[*recent - 1]))
		return *recent - 1;
	uint32_t i = intern_new(aggregate, key);
	*recent = i + 1; /* 0 where there is no room */
	return i;
}

/* Return the slot of the sample's cell, or the free slot for it. */
static uint32_t find(const struct vmop_aggregate *aggregate,
		     const struct vmop_aggregate_pending *pending)
{
	const struct vmop_aggregate_index *index = &aggregate->cell_index;
	uint32_t i = pending->slot;
	for (; index->slots[i]; i = (i + 1) & index->mask) {
		const struct vmop_aggregate_cell *cell = &aggregate->cells[index->slots[i] - 1];
		if (cell->offset == pending->offset && cell->key == pending->key)
			break;
	}
	return i;
}

/* Add a sample to its cell.  There must be room for a new cell. */
static void add_to_cell(struct vmop_aggregate *aggregate,
			const struct vmop_aggregate_pending *pending)
{
	uint32_t *slot = &aggregate->cell_index.slots[find(aggregate, pending)];
	if (*slot) {
		struct vmop_aggregate_cell *cell = &aggregate->cells[*slot - 1];
		cell->samples += pending->samples;
		cell->weight_events += pending->weight_events;
		return;
	}
	aggregate->cells[aggregate->n_cells] =
		(struct vmop_aggregate_cell){.offset = pending->offset,
					     .weight_events = pending->weight_events,
					     .key = pending->key,
					     .samples = pending->samples};
	*slot = ++aggregate->n_cells;
}

void vmop_aggregate_apply_pending(struct vmop_aggregate *aggregate)
{
	const uint32_t *slots = aggregate->cell_index.slots;
	for (uint32_t i = 0; i < aggregate->n_pending; i++) {
		uint32_t slot = slots[aggregate->pending[i].slot];
		if (slot)
			__builtin_prefetch(&aggregate->cells[slot - 1], 1);
	}
	for (uint32_t i = 0; i < aggregate->n_pending; i++)
		add_to_cell(aggregate, &aggregate->pending[i]);
	aggregate->n_pending = 0;
}

bool vmop_aggregate_add(struct vmop_aggregate *aggregate, const struct vmop_sample_key *key,
			uint64_t offset, uint32_t samples, uint64_t weight_events)
{
	uint32_t i = intern(aggregate, key);
	if (i == UINT32_MAX)
		return false;
	/* A key's offsets are close together, and so are keys: one multiplication spreads both. */
	uint64_t hash = (offset + ((uint64_t)i << 40)) * 0x9e3779b97f4a7c15ull;
	const struct vmop_aggregate_pending pending = {
		.offset = offset,
		.weight_events = weight_events,
		.key = i,
		.samples = samples,
		.slot = (uint32_t)(hash >> 32) & aggregate->cell_index.mask,
	};
	/* Each pending sample may need a new cell. */
	if (aggregate->n_cells + aggregate->n_pending == aggregate->max_cells)
		vmop_aggregate_apply_pending(aggregate);
	if (aggregate->n_cells == aggregate->max_cells &&
	    !aggregate->cell_index.slots[find(aggregate, &pending)])
		return false;
	if (aggregate->max_cells <= NEAR_CELLS) {
		add_to_cell(aggregate, &pending);
		return true;
	}
	__builtin_prefetch(&aggregate->cell_index.slots[pending.slot], 1);
	aggregate->pending[aggregate->n_pending++] = pending;
	if (aggregate->n_pending == VMOP_AGGREGATE_PENDING_MAX)
		vmop_aggregate_apply_pending(aggregate);
	return true;
}

bool vmop_aggregate_move(struct vmop_aggregate *aggregate, uint32_t i,
			 const struct vmop_sample_key *key, uint64_t offset)
{
	struct vmop_aggregate_cell *cell = &aggregate->cells[i];
	vmop_aggregate_apply_pending(aggregate); /* no sample may be pending for this cell */
	if (!vmop_aggregate_add(aggregate, key, offset, cell->samples, cell->weight_events))
		return false;
	cell->samples = 0;
	cell->weight_events = 0;
	return true;
}

uint64_t vmop_aggregate_samples(struct vmop_aggregate *aggregate)
{
	uint64_t sum = 0;
	vmop_aggregate_apply_pending(aggregate);
	for (uint32_t i = 0; i < aggregate->n_cells; i++)
		sum += aggregate->cells[i].samples;
	return sum;
}

bool vmop_aggregate_is_nearly_full(const struct vmop_aggregate *aggregate)
{
	return aggregate->n_cells > aggregate->max_cells / 4 * 3 ||
	       aggregate->n_keys > aggregate->max_keys / 4 * 3;
}

/* Merge neighbours with the same offset, and return the number of remaining cells. */
static size_t merge(struct vmop_db_cell *cells, size_t n)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) {
		if (kept && cells[kept - 1].offset == cells[i].offset) {
			cells[kept - 1].samples += cells[i].samples;
			cells[kept - 1].weight_events += cells[i].weight_events;
		} else {
			cells[kept++] = cells[i];
		}
	}
	return kept;
}

/* Return a number that has the same sign as a - b. */
#define COMPARE(a, b) (((a) > (b)) - ((a) < (b)))

int vmop_aggregate_compare_places(const struct vmop_sample_key *a, const struct vmop_sample_key *b)
{
	int order = COMPARE(a->task.number, b->task.number);
	order = order ? order : COMPARE(a->image.at, b->image.at);
	order = order ? order : COMPARE(a->mode, b->mode);
	order = order ? order : COMPARE(a->cpu, b->cpu);
	order = order ? order : COMPARE(a->event.number, b->event.number);
	order = order ? order : COMPARE(a->domain.number, b->domain.number);
	order = order ? order : COMPARE(a->billed.number, b->billed.number);
	order = order ? order : COMPARE(a->bill, b->bill);
	order = order ? order : COMPARE(a->certainty, b->certainty);
	return order ? order : COMPARE(a->vcpu, b->vcpu);
}

static int compare_keys(const void *a, const void *b, void *arg)
{
	const struct vmop_sample_key *keys = arg;
	const struct vmop_sample_key *left = &keys[*(const uint32_t *)a];
	const struct vmop_sample_key *right = &keys[*(const uint32_t *)b];
	int order = vmop_aggregate_compare_places(left, right);
	return order ? order : COMPARE(left->stack.number, right->stack.number);
}

/* Set *ret to the keys' order by stack, which the caller frees; NULL if there are no stacks. */
static bool order_by_stack(const struct vmop_aggregate *aggregate, uint32_t **ret)
{
	uint32_t n = aggregate->n_keys, i = 0;
	while (i < n && !aggregate->keys[i].stack.number)
		i++;
	if (i == n)
		return true;
	*ret = malloc(n * sizeof(**ret));
	if (!*ret)
		return false;
	for (i = 0; i < n; i++)
		(*ret)[i] = i;
	qsort_r(*ret, n, sizeof(**ret), compare_keys, aggregate->keys);
	return true;
}

struct vmop_error *
vmop_aggregate_each(struct vmop_aggregate *aggregate,
		    void (*rename)(void *arg, struct vmop_sample_key *key),
		    struct vmop_error *(*each)(void *arg, const struct vmop_sample_key *key,
					       const struct vmop_db_cell *cells, size_t n),
		    void *arg)
{
	vmop_aggregate_apply_pending(aggregate);
	/* A counting sort by key, then each key's few cells by offset. */
	uint32_t n_before = aggregate->n_keys;
	_cleanup_free_ uint32_t *target = calloc(n_before + 1, sizeof(*target));
	_cleanup_free_ size_t *begin = calloc((size_t)aggregate->max_keys + 2, sizeof(*begin));
	/* The second half is scratch for sorting. */
	_cleanup_free_ struct vmop_db_cell *sorted =
		malloc((2 * (size_t)aggregate->n_cells + 1) * sizeof(*sorted));
	if (!target || !begin || !sorted)
		return &vmop_error_no_memory;
	for (uint32_t i = 0; i < n_before; i++) {
		struct vmop_sample_key key = aggregate->keys[i];
		rename(arg, &key);
		uint32_t renamed = intern(aggregate, &key);
		target[i] = renamed == UINT32_MAX ? i : renamed;
	}
	for (uint32_t i = 0; i < aggregate->n_cells; i++)
		if (aggregate->cells[i].samples)
			begin[target[aggregate->cells[i].key] + 2]++;
	for (uint32_t i = 2; i < aggregate->n_keys + 2; i++)
		begin[i] += begin[i - 1];
	for (uint32_t i = 0; i < aggregate->n_cells; i++) {
		const struct vmop_aggregate_cell *cell = &aggregate->cells[i];
		if (cell->samples)
			sorted[begin[target[cell->key] + 1]++] =
				(struct vmop_db_cell){.offset = cell->offset,
						      .samples = cell->samples,
						      .weight_events = cell->weight_events};
	}
	/* The cells of key i are now from begin[i] up to begin[i + 1]. */
	_cleanup_free_ uint32_t *order = NULL;
	if (!order_by_stack(aggregate, &order))
		return &vmop_error_no_memory;
	for (uint32_t at = 0; at < aggregate->n_keys; at++) {
		uint32_t i = order ? order[at] : at;
		size_t n = begin[i + 1] - begin[i];
		if (!n)
			continue;
		struct vmop_db_cell *cells = sorted + begin[i];
		vmop_db_sort_cells(cells, sorted + aggregate->n_cells, n);
		struct vmop_error *err = each(arg, &aggregate->keys[i], cells, merge(cells, n));
		if (err)
			return err;
	}
	return NULL;
}

/* Replace the tables by empty ones. Without memory they stay. */
static void replace(struct vmop_aggregate *aggregate, uint32_t max_cells, uint32_t max_keys)
{
	struct vmop_aggregate other = {.max_keys = max_keys,
				       .max_cells = max_cells,
				       .keys_bound = aggregate->keys_bound,
				       .cells_bound = aggregate->cells_bound};
	if (make_tables(&other)) {
		vmop_aggregate_deinit(aggregate);
		*aggregate = other;
	} else {
		vmop_aggregate_deinit(&other);
	}
}

/* Double the room if more than half of it was in use. Without memory it stays. */
static void grow(struct vmop_aggregate *aggregate)
{
	uint32_t max_cells = aggregate->max_cells, max_keys = aggregate->max_keys;
	if (aggregate->n_cells > max_cells / 2 && max_cells < aggregate->cells_bound)
		max_cells *= 2;
	if (aggregate->n_keys > max_keys / 2 && max_keys < aggregate->keys_bound)
		max_keys *= 2;
	if (max_cells == aggregate->max_cells && max_keys == aggregate->max_keys)
		return;
	replace(aggregate, max_cells, max_keys);
}

void vmop_aggregate_shrink(struct vmop_aggregate *aggregate, uint32_t n_cells)
{
	if (!aggregate->n_keys &&
	    (aggregate->max_cells > n_cells || aggregate->max_keys > KEYS_AT_FIRST))
		replace(aggregate, n_cells, KEYS_AT_FIRST);
}

void vmop_aggregate_reset(struct vmop_aggregate *aggregate)
{
	if (!aggregate->n_keys)
		return;
	grow(aggregate);
	struct vmop_aggregate_index *indexes[] = {&aggregate->key_index, &aggregate->cell_index};
	for (size_t i = 0; i < 2; i++)
		memset(indexes[i]->slots, 0,
		       ((size_t)indexes[i]->mask + 1) * sizeof(*indexes[i]->slots));
	memset(aggregate->recent, 0, sizeof(aggregate->recent));
	aggregate->n_keys = aggregate->n_cells = aggregate->n_pending = 0;
}
