// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sums by key: (group, value) -> n_slots pairs of samples and weight.  The owner chooses the
 * values, such as offsets or symbols.  Keys are dense in the order of first use, so an index never
 * changes.
 *
 * Memory is bounded: further keys are summed in one place, `left_out`.  No reader needs each of a
 * million rows, but their samples must not vanish silently.
 */
#ifndef VMOP_OPREPORT_QUERY_TALLY_H
#define VMOP_OPREPORT_QUERY_TALLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"

#define VMOP_NO_GROUP UINT32_MAX

struct vmop_count {
	uint64_t samples;
	uint64_t weight_events; /* scaled if the event shared its counters */
};

struct vmop_tally_key {
	uint64_t value;
	uint32_t group;
};

/* The bound of keys, counts and buckets together. */
#define VMOP_TALLY_MAX_BYTES ((size_t)128 << 20)

/* The index of `left_out`. */
#define VMOP_TALLY_LEFT_OUT SIZE_MAX

struct vmop_tally {
	size_t n_slots; /* counts for each key */
	size_t n, capacity;
	struct vmop_tally_key *keys; /* n */
	struct vmop_count *counts;   /* n * n_slots */
	uint32_t *buckets;	     /* index + 1; 0: empty */
	size_t n_buckets;	     /* a power of two */
	uint64_t seed;		     /* of the hash, odd */
	struct vmop_count *left_out; /* n_slots; NULL: none yet */
};

void vmop_tally_init(struct vmop_tally *tally, size_t n_slots);
void vmop_tally_deinit(struct vmop_tally *tally);

/*
 * Set *ret to the n_slots counts of (group, value), zeros if new, or to left_out if there is no
 * room. A group of VMOP_NO_GROUP is always left out.  *ret is valid until the next call; ret_index
 * may be NULL.  Fails only without memory.
 */
struct vmop_error *vmop_tally_at(struct vmop_tally *tally, uint32_t group, uint64_t value,
				 struct vmop_count **ret, size_t *ret_index);

/* Make room for n more keys at once, within the bound. */
struct vmop_error *vmop_tally_reserve(struct vmop_tally *tally, size_t n);

static inline const struct vmop_count *vmop_tally_counts(const struct vmop_tally *tally,
							 size_t index)
{
	return tally->counts + index * tally->n_slots;
}

static inline void vmop_count_add(struct vmop_count *count, uint64_t samples,
				  uint64_t weight_events)
{
	count->samples += samples;
	count->weight_events += weight_events;
}

static inline void vmop_count_subtract(struct vmop_count *count, struct vmop_count less)
{
	count->samples -= less.samples;
	count->weight_events -= less.weight_events;
}

#endif
