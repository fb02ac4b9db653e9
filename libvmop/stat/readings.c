// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/readings.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "libutil/array.h"
#include "libutil/clock.h"

/* A growth from which on it is no growth: a counter of a fast device reaches it in centuries. */
#define MAX_GROWTH (UINT64_C(1) << 62)

static void free_item(struct vmop_reading *item)
{
	free((char *)item->object);
	free((char *)item->counter);
	free((char *)item->guest);
	free((char *)item->reason);
}

void vmop_readings_begin(struct vmop_readings *readings)
{
	for (size_t i = 0; i < readings->n; i++)
		free_item(&readings->items[i]);
	readings->n = 0;
	readings->time_ns = vmop_clock_ns(CLOCK_MONOTONIC);
}

void vmop_readings_deinit(struct vmop_readings *readings)
{
	vmop_readings_begin(readings);
	free(readings->items);
	*readings = (struct vmop_readings){0};
}

struct vmop_error *vmop_readings_add(struct vmop_readings *readings,
				     const struct vmop_reading *reading)
{
	if (!vmop_array_reserve(readings->items, readings->capacity, readings->n + 1))
		return &vmop_error_no_memory;
	struct vmop_reading copy = *reading;
	copy.object = strdup(reading->object);
	copy.counter = strdup(reading->counter);
	copy.guest = reading->guest ? strdup(reading->guest) : NULL;
	copy.reason = reading->reason ? strdup(reading->reason) : NULL;
	if (!copy.object || !copy.counter || (reading->guest && !copy.guest) ||
	    (reading->reason && !copy.reason)) {
		free_item(&copy);
		return &vmop_error_no_memory;
	}
	readings->items[readings->n++] = copy;
	return NULL;
}

static int by_identity(const void *a, const void *b)
{
	const struct vmop_reading *left = a, *right = b;
	if (left->identity != right->identity)
		return left->identity < right->identity ? -1 : 1;
	return strcmp(left->counter, right->counter);
}

void vmop_readings_end(struct vmop_readings *readings)
{
	if (readings->n)
		qsort(readings->items, readings->n, sizeof(*readings->items), by_identity);
}

static struct vmop_reading *find(const struct vmop_readings *readings,
				 const struct vmop_reading *like)
{
	return readings->n ? bsearch(like, readings->items, readings->n, sizeof(*like), by_identity)
			   : NULL;
}

/* Return whether now is lower than before, or higher than a counter can get. */
static bool went_back(const struct vmop_reading *before, const struct vmop_reading *now)
{
	return !before->reason && !now->reason &&
	       (now->value < before->value || now->value - before->value >= MAX_GROWTH);
}

/*
 * Return a counter of the same object that shows a reset of all of them, or NULL. item is one of
 * now's.
 */
static const struct vmop_reading *find_reset(const struct vmop_readings *before,
					     const struct vmop_readings *now,
					     const struct vmop_reading *item)
{
	const struct vmop_reading *end = now->items + now->n, *other = item;
	while (other > now->items && other[-1].identity == item->identity)
		other--;
	for (; other < end && other->identity == item->identity; other++) {
		const struct vmop_reading *old =
			other->flags & VMOP_READING_ALONE ? NULL : find(before, other);
		if (old && went_back(old, other))
			return other;
	}
	return NULL;
}

/* Write the reason for which the growth from before to now is not known; "": it is known. */
static void find_reason(const struct vmop_readings *all_before, const struct vmop_readings *all_now,
			const struct vmop_reading *before, const struct vmop_reading *now,
			char *ret, size_t size)
{
	const struct vmop_reading *reset;
	*ret = '\0';
	if (!now) {
		snprintf(ret, size, "it disappeared");
	} else if (now->reason || before == NULL) {
		snprintf(ret, size, "%s", now->reason ? now->reason : "it appeared meanwhile");
	} else if (before->reason) {
		snprintf(ret, size, "%s", before->reason);
	} else if (now->stops_at && now->value == now->stops_at) {
		snprintf(ret, size, "it is at %" PRIu64 ", where it stops: reset it",
			 now->stops_at);
	} else if (went_back(before, now)) {
		snprintf(ret, size,
			 "it went from %" PRIu64 " to %" PRIu64 ": it was reset, or wrapped",
			 before->value, now->value);
	} else if (now->renewed_ms &&
		   all_now->time_ns - all_before->time_ns < now->renewed_ms * VMOP_NS_PER_MS) {
		snprintf(ret, size, "its driver renews it only every %u ms", now->renewed_ms);
	} else if (!(now->flags & VMOP_READING_ALONE) &&
		   (reset = find_reset(all_before, all_now, now))) {
		snprintf(ret, size, "%s went back: its counters were reset", reset->counter);
	}
}

/* Return whether the growth of an item cannot be known any more; now is NULL if it is gone. */
static bool is_lost(const struct vmop_readings *all_before, const struct vmop_readings *all_now,
		    const struct vmop_reading *before, const struct vmop_reading *now)
{
	if (!now || went_back(before, now))
		return true;
	return !(now->flags & VMOP_READING_ALONE) && find_reset(all_before, all_now, now);
}

struct vmop_error *vmop_readings_mark(struct vmop_readings *first, const struct vmop_readings *last,
				      const struct vmop_readings *now)
{
	char reason[256];
	for (size_t i = 0; i < first->n; i++) {
		struct vmop_reading *item = &first->items[i];
		const struct vmop_reading *before = find(last, item), *after = find(now, item);
		if (!before || item->reason || !is_lost(last, now, before, after))
			continue;
		find_reason(last, now, before, after, reason, sizeof(reason));
		item->reason = strdup(reason);
		if (!item->reason)
			return &vmop_error_no_memory;
	}
	return NULL;
}

/* Make the row of a counter; before or now is NULL if that reading lacks it. False: no row. */
static bool make_row(const struct vmop_readings *all_before, const struct vmop_readings *all_now,
		     const struct vmop_reading *before, const struct vmop_reading *now,
		     struct vmop_readings_row *ret)
{
	const struct vmop_reading *item = now ? now : before;
	double elapsed_ns = (double)(all_now->time_ns - all_before->time_ns);
	*ret = (struct vmop_readings_row){
		.row = {.guest = item->guest}, .identity = item->identity, .object = item->object};
	snprintf(ret->name, sizeof(ret->name), "%s/%s", item->object, item->counter);
	ret->row.name = ret->name;
	ret->row.is_time = item->kind == VMOP_READING_NS;
	find_reason(all_before, all_now, before, now, ret->reason, sizeof(ret->reason));
	if (*ret->reason) {
		ret->row.reason = ret->reason;
		/* Less usual counters that never counted are not missed. */
		return !(item->flags & VMOP_READING_QUIET) || (before && before->value) ||
		       (now && now->value);
	}
	double growth = (double)(now->value - before->value);
	ret->is_silent = growth == 0;
	if (item->flags & VMOP_READING_QUIET && growth == 0)
		return false;
	vmop_spread_add(&ret->row.values, growth);
	ret->row.running_ns = ret->row.enabled_ns = elapsed_ns;
	if (elapsed_ns > 0) {
		bool is_time = item->kind == VMOP_READING_NS;
		vmop_spread_add(&ret->row.ratios,
				is_time ? 100 * growth / elapsed_ns : growth * 1e9 / elapsed_ns);
		ret->row.ratio_unit = is_time ? "% of the time" : "/sec";
	}
	return true;
}

/* Make the rows of each object silent only if all of them are. */
static void join_silence(struct vmop_readings_row *rows, size_t n)
{
	for (size_t first = 0, end; first < n; first = end) {
		bool is_silent = true;
		for (end = first; end < n && rows[end].identity == rows[first].identity; end++)
			is_silent &= rows[end].is_silent;
		for (size_t i = first; i < end; i++)
			rows[i].is_silent = is_silent;
	}
}

struct vmop_error *vmop_readings_rows(const struct vmop_readings *before,
				      const struct vmop_readings *now,
				      struct vmop_readings_row **ret, size_t *ret_n)
{
	struct vmop_readings_row *rows = calloc(before->n + now->n + 1, sizeof(*rows));
	size_t n = 0;
	if (!rows)
		return &vmop_error_no_memory;
	/* Both are in the same order: merge them. */
	for (size_t i = 0, j = 0; i < before->n || j < now->n;) {
		int order = i == before->n ? 1
			    : j == now->n  ? -1
					   : by_identity(&before->items[i], &now->items[j]);
		const struct vmop_reading *old = order <= 0 ? &before->items[i++] : NULL;
		const struct vmop_reading *new = order >= 0 ? &now->items[j++] : NULL;
		n += make_row(before, now, old, new, &rows[n]);
	}
	join_silence(rows, n);
	*ret = rows;
	*ret_n = n;
	return NULL;
}
