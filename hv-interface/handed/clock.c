// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/handed/clock.h"

__extension__ typedef unsigned __int128 wide;
__extension__ typedef __int128 signed_wide;

_Static_assert(1000000 % VMOP_HANDED_CLOCK_DRIFT_PPM == 0, "drift_ns() is exact");

static const struct vmop_handed_point *point(const struct vmop_handed_clock *clock, uint64_t i)
{
	return &clock->points[i % VMOP_HANDED_CLOCK_POINTS];
}

static const struct vmop_handed_point *last(const struct vmop_handed_clock *clock)
{
	return clock->n_points ? point(clock, clock->n_points - 1) : NULL;
}

uint64_t vmop_handed_clock_ask(struct vmop_handed_clock *clock, const struct vmop_tsc_pair *now,
			       bool has_tsc)
{
	clock->asked = *now;
	clock->has_tsc = has_tsc;
	clock->is_asked = true;
	return now->time_ns;
}

static uint64_t drift_ns(uint64_t len_ns)
{
	return len_ns / (1000000 / VMOP_HANDED_CLOCK_DRIFT_PPM);
}

static uint64_t add_bounded(uint64_t a, uint64_t b)
{
	uint64_t sum;
	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

/* Find this guest's time of a value of its counter that lies between two of its readings. */
static bool locate(const struct vmop_tsc_pair *before, const struct vmop_tsc_pair *after,
		   uint64_t tsc, uint64_t *ret_ns, uint64_t *ret_error_ns)
{
	uint64_t ticks = after->tsc - before->tsc, len_ns = after->time_ns - before->time_ns;
	if (after->tsc <= before->tsc || tsc < before->tsc || tsc > after->tsc)
		return false;
	*ret_ns = before->time_ns + (uint64_t)((wide)(tsc - before->tsc) * len_ns / ticks);
	uint64_t width_ticks = before->width_ticks / 2 + after->width_ticks / 2;
	*ret_error_ns = 1 + (uint64_t)((wide)width_ticks * len_ns / ticks);
	return true;
}

/*
 * Narrow the bounds of the difference by those of the point before, which have widened since.
 * Bounds that do not overlap show a jump of a clock: begin anew.
 */
static void narrow(const struct vmop_handed_point *before, struct vmop_handed_point *next)
{
	uint64_t old_error =
		add_bounded(before->error_ns, drift_ns(next->host_ns - before->host_ns));
	/* Around the old middle, as signed distances. */
	signed_wide middle = (int64_t)(next->difference_ns - before->difference_ns);
	signed_wide low = middle - next->error_ns, high = middle + next->error_ns;
	if (low < -(signed_wide)old_error)
		low = -(signed_wide)old_error;
	if (high > (signed_wide)old_error)
		high = old_error;
	if (low > high)
		return;
	next->difference_ns = before->difference_ns + (uint64_t)((low + high) / 2);
	next->error_ns = (uint64_t)((high - low + 1) / 2);
}

bool vmop_handed_clock_answer(struct vmop_handed_clock *clock,
			      const struct vmop_active_clock *answer,
			      const struct vmop_tsc_pair *now)
{
	const struct vmop_tsc_pair *asked = &clock->asked;
	const struct vmop_handed_point *before = last(clock);
	struct vmop_handed_point next = {.host_ns = answer->host_ns};
	uint64_t guest_ns;
	if (!clock->is_asked || answer->asked_ns != asked->time_ns ||
	    (before && next.host_ns <= before->host_ns))
		return false;
	clock->is_asked = false;
	if (clock->has_tsc && answer->guest_tsc &&
	    locate(asked, now, answer->guest_tsc, &guest_ns, &next.error_ns)) {
		next.difference_ns = guest_ns - next.host_ns;
		next.error_ns = add_bounded(next.error_ns, answer->error_ns);
		clock->is_by_round_trips = false;
	} else {
		clock->is_by_round_trips = true;
		next.error_ns = (now->time_ns - asked->time_ns + 1) / 2;
		next.difference_ns = asked->time_ns + next.error_ns - next.host_ns;
		if (before)
			narrow(before, &next);
	}
	clock->points[clock->n_points++ % VMOP_HANDED_CLOCK_POINTS] = next;
	return true;
}

uint64_t vmop_handed_clock_known_ns(const struct vmop_handed_clock *clock)
{
	return clock->n_points ? last(clock)->host_ns : 0;
}

uint64_t vmop_handed_clock_error_ns(const struct vmop_handed_clock *clock)
{
	return clock->n_points ? last(clock)->error_ns : 0;
}

/* Convert a time before the first or after the last point, away from it. */
static void extrapolate(const struct vmop_handed_point *from, uint64_t host_ns, uint64_t *ret_ns,
			uint64_t *ret_error_ns)
{
	uint64_t away_ns =
		host_ns > from->host_ns ? host_ns - from->host_ns : from->host_ns - host_ns;
	*ret_ns = host_ns + from->difference_ns;
	*ret_error_ns = add_bounded(from->error_ns, drift_ns(away_ns));
}

/* Return change_ns * at_ns / len_ns, where at_ns <= len_ns. */
static int64_t part_of(int64_t change_ns, uint64_t at_ns, uint64_t len_ns)
{
	int64_t product;
	/* Nearly always. The other division takes several times as long. */
	if (!__builtin_mul_overflow(change_ns, at_ns, &product) && len_ns <= INT64_MAX)
		return product / (int64_t)len_ns;
	return (int64_t)((signed_wide)change_ns * (signed_wide)at_ns / (signed_wide)len_ns);
}

static void interpolate(const struct vmop_handed_point *a, const struct vmop_handed_point *b,
			uint64_t host_ns, uint64_t *ret_ns, uint64_t *ret_error_ns)
{
	uint64_t len_ns = b->host_ns - a->host_ns;
	int64_t change_ns = (int64_t)(b->difference_ns - a->difference_ns);
	uint64_t size_ns = change_ns < 0 ? -(uint64_t)change_ns : (uint64_t)change_ns;
	uint64_t error_ns = a->error_ns > b->error_ns ? a->error_ns : b->error_ns;
	int64_t part_ns = part_of(change_ns, host_ns - a->host_ns, len_ns);
	*ret_ns = host_ns + a->difference_ns + (uint64_t)part_ns;
	/* More than a slew: a clock has jumped at an unknown time between the points. */
	bool has_jumped = size_ns > add_bounded(drift_ns(2 * len_ns), 2 * error_ns);
	*ret_error_ns = has_jumped ? add_bounded(error_ns, size_ns) : error_ns;
}

bool vmop_handed_clock_convert(const struct vmop_handed_clock *clock, uint64_t host_ns,
			       uint64_t *ret_guest_ns, uint64_t *ret_error_ns)
{
	if (!clock->n_points)
		return false;
	uint64_t first = clock->n_points > VMOP_HANDED_CLOCK_POINTS
				 ? clock->n_points - VMOP_HANDED_CLOCK_POINTS
				 : 0;
	uint64_t i = clock->n_points - 1;
	if (host_ns >= point(clock, i)->host_ns) {
		extrapolate(point(clock, i), host_ns, ret_guest_ns, ret_error_ns);
		return true;
	}
	while (i > first && host_ns < point(clock, i)->host_ns)
		i--;
	if (host_ns < point(clock, i)->host_ns)
		extrapolate(point(clock, i), host_ns, ret_guest_ns, ret_error_ns);
	else
		interpolate(point(clock, i), point(clock, i + 1), host_ns, ret_guest_ns,
			    ret_error_ns);
	return true;
}
