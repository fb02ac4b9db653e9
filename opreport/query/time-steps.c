// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/query/time-steps.h"

#include <inttypes.h>
#include <stdlib.h>

#include "libutil/array.h"
#include "libutil/cleanup.h"
#include "libutil/clock.h"
#include "libutil/local-time.h"
#include "opreport/query/choice.h"

#define CHOSEN_MAX 60

/* Times beyond this have no local time: see libutil/local-time.h. */
#define MAX_NS ((uint64_t)VMOP_REAL_SECONDS_MAX * VMOP_NS_PER_S)

static uint64_t min(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t end_of(const struct vmop_db_interval *interval)
{
	uint64_t end_ns;
	return __builtin_add_overflow(interval->start_ns, interval->len_ns, &end_ns) ? UINT64_MAX
										     : end_ns;
}

static uint64_t middle_of(uint64_t from_ns, uint64_t to_ns)
{
	return from_ns + (to_ns - from_ns) / 2;
}

uint64_t vmop_time_steps_choose(uint64_t span_ns)
{
	static const uint64_t steps[] = {1,	2,     5,     10,    15,	30,	   60,
					 120,	300,   600,   900,   1800,	3600,	   7200,
					 10800, 21600, 43200, 86400, 7 * 86400, 30 * 86400};
	size_t i = 0, last = sizeof(steps) / sizeof(*steps) - 1;
	while (i < last && span_ns / VMOP_NS_PER_S / steps[i] > CHOSEN_MAX - 2)
		i++;
	return steps[i];
}

/* ---- making slots ------------------------------------------------------------------- */

/* Return the edge of steps that is nearest to a time. */
static uint64_t nearest_edge(uint64_t time_ns, uint64_t step_s)
{
	uint64_t start_ns = vmop_local_step_start(time_ns, step_s);
	uint64_t end_ns = vmop_local_step_end(start_ns, step_s);
	return time_ns - start_ns < end_ns - time_ns ? start_ns : end_ns;
}

/* Return the steps of an interval: one, or those that a longer one covers. */
static struct vmop_span steps_of(const struct vmop_span *interval, uint64_t step_s)
{
	struct vmop_span ret;
	ret.from_ns = vmop_local_step_start(middle_of(interval->from_ns, interval->to_ns), step_s);
	ret.to_ns = vmop_local_step_end(ret.from_ns, step_s);
	if (interval->to_ns - interval->from_ns <= ret.to_ns - ret.from_ns)
		return ret;
	uint64_t from_ns = nearest_edge(interval->from_ns, step_s);
	uint64_t to_ns = nearest_edge(interval->to_ns, step_s);
	ret.from_ns = min(from_ns, ret.from_ns);
	ret.to_ns = to_ns > ret.to_ns ? to_ns : ret.to_ns;
	return ret;
}

static int compare_spans(const void *a, const void *b)
{
	const struct vmop_span *x = a, *y = b;
	return (x->from_ns > y->from_ns) - (x->from_ns < y->from_ns);
}

/* Append a slot, or widen the last one by steps that overlap it. */
static struct vmop_error *add_steps(struct vmop_time_slots *slots, const struct vmop_span *steps)
{
	struct vmop_time_slot *last = slots->n ? &slots->items[slots->n - 1] : NULL;
	if (last && steps->from_ns < last->to_ns) {
		if (steps->to_ns > last->to_ns)
			last->to_ns = steps->to_ns;
		return NULL;
	}
	if (slots->n >= VMOP_TIME_SLOTS_MAX)
		return vmop_error_new(VMOP_ERROR_USAGE,
				      "--over=time:%" PRIu64 "s gives more than %zu steps; take "
				      "longer ones, or less time by time:FROM..TO",
				      slots->step_s, VMOP_TIME_SLOTS_MAX);
	if (!vmop_array_reserve(slots->items, slots->capacity, slots->n + 1))
		return &vmop_error_no_memory;
	slots->items[slots->n++] =
		(struct vmop_time_slot){.from_ns = steps->from_ns, .to_ns = steps->to_ns};
	return NULL;
}

static uint32_t find(const struct vmop_time_slots *slots, uint64_t time_ns)
{
	size_t low = 0, high = slots->n;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (slots->items[middle].to_ns > time_ns)
			high = middle;
		else
			low = middle + 1;
	}
	bool is_in = low < slots->n && slots->items[low].from_ns <= time_ns;
	return is_in ? (uint32_t)low : VMOP_NO_TIME_SLOT;
}

/* Sum the lengths of the intervals in their slots. */
static void add_lengths(struct vmop_time_slots *slots, const struct vmop_span *intervals, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		uint64_t len_ns = intervals[i].to_ns - intervals[i].from_ns;
		uint32_t at = find(slots, middle_of(intervals[i].from_ns, intervals[i].to_ns));
		if (at == VMOP_NO_TIME_SLOT)
			continue;
		struct vmop_time_slot *slot = &slots->items[at];
		slot->recorded_ns += min(len_ns, UINT64_MAX - slot->recorded_ns);
		if (len_ns > slot->longest_ns)
			slot->longest_ns = len_ns;
	}
}

struct vmop_error *vmop_time_steps_make(struct vmop_time_slots *ret,
					const struct vmop_span *intervals, size_t n,
					uint64_t step_s)
{
	_cleanup_free_ struct vmop_span *steps = calloc(n + 1, sizeof(*steps));
	struct vmop_error *err = NULL;
	size_t n_steps = 0;
	*ret = (struct vmop_time_slots){.step_s = step_s};
	if (!steps)
		return &vmop_error_no_memory;
	for (size_t i = 0; i < n; i++) {
		const struct vmop_span *last = n_steps ? &steps[n_steps - 1] : NULL;
		uint64_t middle_ns = middle_of(intervals[i].from_ns, intervals[i].to_ns);
		if (last && middle_ns >= last->from_ns && middle_ns < last->to_ns &&
		    intervals[i].to_ns - intervals[i].from_ns <= step_s * VMOP_NS_PER_S)
			continue; /* the same as before: local time is slow */
		steps[n_steps++] = steps_of(&intervals[i], step_s);
	}
	if (n_steps)
		qsort(steps, n_steps, sizeof(*steps), compare_spans);
	for (size_t i = 0; i < n_steps && !err; i++)
		err = add_steps(ret, &steps[i]);
	add_lengths(ret, intervals, n);
	return err;
}

/* ---- of sessions -------------------------------------------------------------------- */

/* Intervals of sessions while they are read. */
struct gathering {
	const struct vmop_db_filter *filter; /* of the session */
	size_t n_events;		     /* of the session */
	struct vmop_span *spans;	     /* n */
	size_t n, capacity;
	uint64_t first_ns, last_ns;
};

/* Return whether all events of the session are left out at the middle of an interval. */
static bool is_omitted(const struct gathering *gathering, uint64_t middle_ns)
{
	const struct vmop_db_filter *filter = gathering->filter;
	size_t n_events = 0;
	for (size_t i = 0; i < filter->n_omissions; i++) {
		const struct vmop_db_omission *omission = &filter->omissions[i];
		if (!omission->n_domains && middle_ns >= omission->from_ns &&
		    middle_ns < omission->to_ns)
			n_events += omission->n_events;
	}
	return n_events && n_events >= gathering->n_events;
}

static struct vmop_error *gather(void *arg, const struct vmop_db_interval *interval)
{
	struct gathering *gathering = arg;
	const struct vmop_db_filter *filter = gathering->filter;
	const struct vmop_span span = {interval->start_ns, end_of(interval)};
	if (span.to_ns > MAX_NS || span.to_ns <= span.from_ns || span.to_ns <= filter->from_ns ||
	    (filter->to_ns && span.from_ns >= filter->to_ns) ||
	    is_omitted(gathering, middle_of(span.from_ns, span.to_ns)))
		return NULL;
	if (!vmop_array_reserve(gathering->spans, gathering->capacity, gathering->n + 1))
		return &vmop_error_no_memory;
	gathering->spans[gathering->n++] = span;
	gathering->first_ns = min(gathering->first_ns, span.from_ns);
	gathering->last_ns = span.to_ns > gathering->last_ns ? span.to_ns : gathering->last_ns;
	return NULL;
}

struct vmop_error *vmop_time_slots_init_steps(struct vmop_time_slots *ret,
					      const struct vmop_session_input *sessions,
					      const struct vmop_catalog *catalog,
					      const struct vmop_choice *choice, uint64_t step_s)
{
	struct gathering gathering = {.first_ns = UINT64_MAX};
	struct vmop_error *err = NULL;
	*ret = (struct vmop_time_slots){0};
	for (size_t s = 0; s < catalog->n_sessions && !err; s++) {
		const struct vmop_table_part *events = &catalog->events.parts[s];
		gathering.filter = &choice->sessions[s].filter;
		gathering.n_events = events->end - events->first;
		err = vmop_db_each_interval(sessions[s].db, gather, &gathering);
	}
	if (!step_s && gathering.n)
		step_s = vmop_time_steps_choose(gathering.last_ns - gathering.first_ns);
	if (!err && gathering.n)
		err = vmop_time_steps_make(ret, gathering.spans, gathering.n, step_s);
	free(gathering.spans);
	return err;
}

uint32_t vmop_time_steps_find(const struct vmop_time_slots *slots,
			      const struct vmop_db_interval *interval)
{
	return find(slots, middle_of(interval->start_ns, end_of(interval)));
}
