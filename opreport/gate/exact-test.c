// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/gate/exact-test.h"

#include <math.h>

/* Numbers that double holds exactly. */
#define MAX_SAMPLES (UINT64_C(1) << 53)

static double log_choose(double n, double k)
{
	return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/*
 * Return whether the chance of `a` or more of `both` samples being among all_a, of all_a + all_b,
 * is above the level.  The terms fall faster and faster.
 */
static bool is_tail_above(double a, double all_a, double both, double all_b, double level)
{
	double term = exp(log_choose(all_a, a) + log_choose(all_b, both - a) -
			  log_choose(all_a + all_b, both));
	double sum = term, last = fmin(all_a, both);
	for (double k = a; k < last && sum <= level && term > sum * 1e-9; k++) {
		term *= (all_a - k) / (k + 1) * ((both - k) / (all_b - both + k + 1));
		sum += term;
	}
	return sum > level;
}

bool vmop_exact_test_differ(uint64_t a, uint64_t all_a, uint64_t b, uint64_t all_b, double level)
{
	if (a > all_a || b > all_b || all_a >= MAX_SAMPLES || all_b >= MAX_SAMPLES)
		return false;
	double x = (double)a, n = (double)all_a, y = (double)b, m = (double)all_b;
	bool a_is_more = x * m > y * n;
	/* Each side of the distribution has half of the level. */
	return x * m != y * n && !(a_is_more ? is_tail_above(x, n, x + y, m, level / 2)
					     : is_tail_above(y, m, x + y, n, level / 2));
}
