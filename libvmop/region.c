// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Regions: the difference of two reads, less the median of empty regions. The own cost is measured
 * in the same loop of calls as the user's: begin, end.
 */
#include <stdlib.h>
#include <string.h>

#include "libutil/cleanup.h"
#include "libutil/error.h"
#include "libvmop/counters.h"

#define WARM_UP 32 /* empty regions that are not used: page faults, cold caches */
#define ROUNDS 500
#define WITHIN 495 /* of the ROUNDS: 99 in 100 */

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return (x > y) - (x < y);
}

static struct vmop_error *read_begun(struct vmop_counters *counters, struct vmop_count *counts)
{
	struct vmop_error *err = vmop_counters_read(counters, counts, counters->events.n);
	for (size_t i = 0; !err && i < counters->events.n; i++)
		counters->counters[i].begun = counts[i];
	return err;
}

/* Set cost and spread of one event from what empty regions counted; sorts them. */
static void set_cost(struct vmop_counter *counter, uint64_t *differences)
{
	qsort(differences, ROUNDS, sizeof(*differences), by_size);
	uint64_t median = differences[ROUNDS / 2];
	for (size_t i = 0; i < ROUNDS; i++)
		differences[i] =
			differences[i] > median ? differences[i] - median : median - differences[i];
	qsort(differences, ROUNDS, sizeof(*differences), by_size);
	counter->cost = median;
	counter->spread = differences[WITHIN - 1];
	counter->largest = differences[ROUNDS - 1];
}

/* Measure by the calls that the user makes, so that the same instructions are between the reads. */
static __attribute__((noinline)) struct vmop_error *measure(struct vmop_counters *counters)
{
	size_t n = counters->events.n;
	_cleanup_free_ uint64_t *differences = calloc(n * ROUNDS, sizeof(*differences));
	_cleanup_free_ struct vmop_region_count *regions = calloc(n, sizeof(*regions));
	struct vmop_error *err = NULL;
	if (!differences || !regions)
		return &vmop_error_no_memory;
	counters->is_cost_known = true; /* 0 until the end of this function */
	for (size_t round = 0; !err && round < WARM_UP + ROUNDS; round++) {
		err = vmop_region_begin(counters);
		if (!err)
			err = vmop_region_end(counters, regions, n);
		for (size_t i = 0; !err && round >= WARM_UP && i < n; i++)
			differences[i * ROUNDS + round - WARM_UP] = regions[i].raw;
	}
	for (size_t i = 0; !err && i < n; i++)
		set_cost(&counters->counters[i], &differences[i * ROUNDS]);
	counters->is_cost_known = !err;
	return err;
}

struct vmop_error *vmop_region_begin(struct vmop_counters *counters)
{
	struct vmop_error *err = NULL;
	if (!counters->is_started)
		err = vmop_counters_start(counters);
	if (!err && !counters->is_cost_known)
		err = measure(counters);
	return err ? err : read_begun(counters, counters->ended);
}

static void set_region(const struct vmop_counter *counter, const struct vmop_count *end,
		       struct vmop_region_count *ret)
{
	const struct vmop_count *begin = &counter->begun;
	*ret = (struct vmop_region_count){
		.raw = end->value - begin->value,
		.cost = counter->cost,
		.spread = counter->spread,
		.largest = counter->largest,
		.enabled_ns = end->enabled_ns - begin->enabled_ns,
		.running_ns = end->running_ns - begin->running_ns,
		.flags = end->flags & VMOP_COUNT_UNAVAILABLE,
		/* The two reads may differ; the slower way counts. */
		.way = begin->way > end->way ? begin->way : end->way,
	};
	ret->value = ret->raw > ret->cost ? ret->raw - ret->cost : 0;
	ret->estimate = ret->value;
	if (ret->flags || ret->enabled_ns == ret->running_ns)
		return;
	if (ret->running_ns == 0) {
		ret->flags |= VMOP_COUNT_NOT_RUN;
		return;
	}
	ret->flags |= VMOP_COUNT_ESTIMATE;
	if (ret->running_ns < ret->enabled_ns)
		ret->estimate = (uint64_t)((unsigned __int128)ret->value * ret->enabled_ns /
					   ret->running_ns);
}

struct vmop_error *vmop_region_end(struct vmop_counters *counters, struct vmop_region_count *counts,
				   size_t n)
{
	struct vmop_count *ended = counters->ended;
	if (!counters->is_cost_known)
		return vmop_error_new(VMOP_ERROR_USAGE, "a region ends that has not begun");
	if (n < counters->events.n)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "room for %zu counts, and there are %zu events", n,
				      counters->events.n);
	struct vmop_error *err = vmop_counters_read(counters, ended, counters->events.n);
	for (size_t i = 0; !err && i < counters->events.n; i++)
		set_region(&counters->counters[i], &ended[i], &counts[i]);
	return err;
}
