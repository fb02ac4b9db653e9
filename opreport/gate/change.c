// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/gate/change.h"

#include <math.h>
#include <stdlib.h>

#include "libutil/array.h"
#include "opreport/compare/per.h"
#include "opreport/gate/exact-test.h"

/* The chance that any row of two equal streams seems to differ. */
#define CHANCE 0.01

static bool has_samples(const struct vmop_shares *baseline, const struct vmop_shares *now,
			size_t event)
{
	return baseline->events[event].all.samples && now->events[event].all.samples;
}

/* A walk over the rows of both sides, in the order of their names. */
struct walk {
	const struct vmop_shares *baseline, *now;
	size_t at_baseline, at_now;
};

/* Set the rows of the next name, NULL for a side without it.  False: there are no more. */
static bool next(struct walk *walk, const struct vmop_shares_row **ret_before,
		 const struct vmop_shares_row **ret_after)
{
	bool has_before = walk->at_baseline < walk->baseline->n_rows;
	bool has_after = walk->at_now < walk->now->n_rows;
	const struct vmop_shares_row *before =
		has_before ? &walk->baseline->rows[walk->at_baseline] : NULL;
	const struct vmop_shares_row *after = has_after ? &walk->now->rows[walk->at_now] : NULL;
	int order = !has_after ? -1 : !has_before ? 1 : vmop_shares_compare(before, after);
	*ret_before = order <= 0 ? before : NULL;
	*ret_after = order >= 0 ? after : NULL;
	walk->at_baseline += *ret_before != NULL;
	walk->at_now += *ret_after != NULL;
	return has_before || has_after;
}

static struct vmop_count count_of(const struct vmop_shares_row *row, size_t event)
{
	return row ? row->counts[event] : (struct vmop_count){0};
}

static size_t count_compared(const struct vmop_shares *baseline, const struct vmop_shares *now)
{
	struct walk walk = {.baseline = baseline, .now = now};
	const struct vmop_shares_row *before, *after;
	size_t n = 0;
	while (next(&walk, &before, &after))
		for (size_t e = 0; e < now->n_events; e++)
			n += has_samples(baseline, now, e) &&
			     (count_of(before, e).samples || count_of(after, e).samples);
	return n;
}

static struct vmop_interval share_of(const struct vmop_shares *shares,
				     const struct vmop_shares_row *row, size_t event, double z)
{
	const struct vmop_measure measure = {
		.row = count_of(row, event), .all = shares->events[event].all, .z = z};
	return vmop_per_estimate(VMOP_PER_SAMPLES, &measure);
}

/* Return whether the change reaches the bounds; a row without a share before has no percentage. */
static bool is_beyond(const struct vmop_change_bound *bound, const struct vmop_changed_row *change)
{
	double points = fabs(change->difference.value);
	return change->difference.is_known && points >= bound->points &&
	       points * 100 >= bound->percent * change->before.value;
}

static int compare_changes(const void *a, const void *b)
{
	const struct vmop_changed_row *x = a, *y = b;
	double left = fabs(x->difference.value), right = fabs(y->difference.value);
	if (left != right)
		return left > right ? -1 : 1;
	int order = vmop_shares_compare(x->row, y->row);
	return order ? order : (x->event > y->event) - (x->event < y->event);
}

struct vmop_error *vmop_changes_init(struct vmop_changes *ret, const struct vmop_shares *baseline,
				     const struct vmop_shares *now,
				     const struct vmop_change_bound *bound)
{
	*ret = (struct vmop_changes){.n_compared = count_compared(baseline, now)};
	struct walk walk = {.baseline = baseline, .now = now};
	const struct vmop_shares_row *before, *after;
	double level = CHANCE / (ret->n_compared ? (double)ret->n_compared : 1);
	double z = vmop_interval_z(level);
	while (next(&walk, &before, &after)) {
		for (size_t e = 0; e < now->n_events; e++) {
			struct vmop_changed_row change = {
				.row = after ? after : before,
				.event = e,
				.before = share_of(baseline, before, e, z),
				.after = share_of(now, after, e, z),
			};
			change.difference = vmop_interval_difference(change.before, change.after);
			if (!has_samples(baseline, now, e) || !is_beyond(bound, &change) ||
			    !vmop_exact_test_differ(
				    count_of(before, e).samples, baseline->events[e].all.samples,
				    count_of(after, e).samples, now->events[e].all.samples, level))
				continue;
			if (!vmop_array_reserve(ret->items, ret->capacity, ret->n + 1))
				return &vmop_error_no_memory;
			ret->items[ret->n++] = change;
		}
	}
	if (ret->n)
		qsort(ret->items, ret->n, sizeof(*ret->items), compare_changes);
	return NULL;
}

void vmop_changes_deinit(struct vmop_changes *changes)
{
	free(changes->items);
	*changes = (struct vmop_changes){0};
}
