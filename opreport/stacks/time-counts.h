// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Counts of samples by a key and by time.  Time is divided into spans of one length.  The length
 * grows while counts are added: it is about that of the longest interval or more, and the items
 * stay within a bound.
 *
 * A call tree has two of these: one by node, one by the parts of the domains' bills.
 */
#ifndef VMOP_OPREPORT_STACKS_TIME_COUNTS_H
#define VMOP_OPREPORT_STACKS_TIME_COUNTS_H

#include <stddef.h>
#include <stdint.h>

#include "libutil/error.h"
#include "opreport/query/tally.h"
#include "opreport/stacks/time-extents.h"

struct vmop_time_count {
	uint32_t key;
	uint16_t slot; /* of the event */
	uint16_t span;
	struct vmop_count count;
};

struct vmop_time_counts {
	uint64_t start_ns, len_ns; /* CLOCK_REALTIME; len_ns: of one span, a number of seconds */
	size_t n_spans; /* VMOP_TIME_SPANS_MAX at most */
	struct vmop_time_extents extents;
	size_t n_slots;
	struct vmop_time_count *items; /* n */
	size_t n, capacity;
	uint32_t *last; /* by key * n_slots + slot: its last item + 1; 0: none */
	size_t last_capacity;
	uint64_t left_out_samples; /* that have no item */
};

/* The bound of items; see vmop_time_counts_add. */
#define VMOP_TIME_ITEMS_MAX ((size_t)4 << 20)

/* The bound of key * n_slots; counts of greater keys are left out. */
#define VMOP_TIME_KEYS_MAX ((size_t)64 << 20)

/* Begin with no counts, for samples of n_slots events in [start_ns, end_ns). */
void vmop_time_counts_init(struct vmop_time_counts *ret, uint64_t start_ns, uint64_t end_ns,
			   size_t n_slots);
void vmop_time_counts_deinit(struct vmop_time_counts *counts);

/*
 * Add a count of an interval.  Times outside of the range count in the first or the last span.
 * Beyond VMOP_TIME_ITEMS_MAX items the spans become longer, and at last counts are left out.
 */
struct vmop_error *vmop_time_counts_add(struct vmop_time_counts *counts, uint32_t key, size_t slot,
					uint64_t interval_start_ns, uint64_t interval_len_ns,
					struct vmop_count count);

/* Sort the items by key, slot and span.  Afterwards nothing may be added. */
void vmop_time_counts_sort(struct vmop_time_counts *counts);

/*
 * Copy counts, sorted, with keys[key] in place of each key; keys that become one are added up. keys
 * NULL: the same keys.  Nothing may be added to the copy.
 */
struct vmop_error *vmop_time_counts_copy(struct vmop_time_counts *ret,
					 const struct vmop_time_counts *counts,
					 const uint32_t *keys);

#endif
