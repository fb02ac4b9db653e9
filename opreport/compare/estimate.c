// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/compare/estimate.h"

#include <math.h>

static const double z = 2.5758293035489004; /* 99 % of a normal distribution lie within z */

struct vmop_interval vmop_interval_of_share_within(double samples, double all, double within)
{
	if (!(all > 0))
		return (struct vmop_interval){0};
	double share = samples / all, zz = within * within;
	double middle = share + zz / (2 * all);
	double half = within * sqrt(share * (1 - share) / all + zz / (4 * all * all));
	double low = (middle - half) / (1 + zz / all), high = (middle + half) / (1 + zz / all);
	return (struct vmop_interval){
		.is_known = true,
		.value = share,
		.low = samples > 0 ? fmax(low, 0) : 0,
		.high = samples < all ? fmin(high, 1) : 1,
	};
}

struct vmop_interval vmop_interval_of_share(double samples, double all)
{
	return vmop_interval_of_share_within(samples, all, z);
}

/* Bisect: erfc(z / sqrt(2)) is the chance of being beyond z, and falls with z. */
double vmop_interval_z(double chance)
{
	double low = 0, high = 38; /* beyond it the chance is 0 in double precision */
	for (int i = 0; i < 100; i++) {
		double middle = (low + high) / 2;
		if (erfc(middle / sqrt(2)) > chance)
			low = middle;
		else
			high = middle;
	}
	return high;
}

struct vmop_interval vmop_interval_of_count(double samples)
{
	double middle = samples + z * z / 2, half = z * sqrt(samples + z * z / 4);
	return (struct vmop_interval){
		.is_known = true,
		.value = samples,
		.low = samples > 0 ? fmax(middle - half, 0) : 0,
		.high = middle + half,
	};
}

struct vmop_interval vmop_interval_of_quotient(double samples, double others)
{
	if (!(others > 0))
		return (struct vmop_interval){0};
	struct vmop_interval share = vmop_interval_of_share(samples, samples + others);
	return (struct vmop_interval){
		.is_known = true,
		.value = samples / others,
		.low = share.low / (1 - share.low),
		.high = share.high / (1 - share.high),
	};
}

struct vmop_interval vmop_interval_scale(struct vmop_interval of, double factor)
{
	of.value *= factor;
	of.low *= factor;
	of.high *= factor;
	return of;
}

struct vmop_interval vmop_interval_difference(struct vmop_interval before,
					      struct vmop_interval after)
{
	if (!before.is_known || !after.is_known)
		return (struct vmop_interval){0};
	double value = after.value - before.value;
	return (struct vmop_interval){
		.is_known = true,
		.value = value,
		.low = value - hypot(after.value - after.low, before.high - before.value),
		.high = value + hypot(after.high - after.value, before.value - before.low),
	};
}

/*
 * Return the lower limit: the smaller root R of (after - R * before)^2 = (after - after.low)^2 +
 * R^2 * (before.high - before)^2, in the form that needs no division by before.high * (2 * before -
 * before.high), which can be 0.
 */
static double lower_ratio(struct vmop_interval before, struct vmop_interval after)
{
	double product = after.value * before.value;
	double of_after = after.low * (2 * after.value - after.low);
	double of_before = before.high * (2 * before.value - before.high);
	double divisor = product + sqrt(fmax(product * product - of_after * of_before, 0));
	return divisor > 0 ? of_after / divisor : 0;
}

/* Return the upper limit: the larger root of the same with the other limits. */
static double upper_ratio(struct vmop_interval before, struct vmop_interval after)
{
	double product = after.value * before.value;
	double of_after = after.high * (2 * after.value - after.high);
	double of_before = before.low * (2 * before.value - before.low);
	double root = sqrt(fmax(product * product - of_after * of_before, 0));
	return of_before > 0 ? (product + root) / of_before : INFINITY;
}

struct vmop_interval vmop_interval_ratio(struct vmop_interval before, struct vmop_interval after)
{
	bool is_defined = before.value > 0 || after.value > 0;
	if (!before.is_known || !after.is_known || !is_defined)
		return (struct vmop_interval){0};
	return (struct vmop_interval){
		.is_known = true,
		.value = before.value > 0 ? after.value / before.value : INFINITY,
		.low = lower_ratio(before, after),
		.high = upper_ratio(before, after),
	};
}

bool vmop_interval_holds(struct vmop_interval interval, double number)
{
	return interval.is_known && interval.low <= number && number <= interval.high;
}
