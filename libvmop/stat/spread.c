// SPDX-License-Identifier: GPL-2.0-or-later
#include "libvmop/stat/spread.h"

#include <math.h>

void vmop_spread_add(struct vmop_spread *spread, double value)
{
	double before = value - spread->mean;
	spread->n++;
	spread->mean += before / (double)spread->n;
	spread->squares += before * (value - spread->mean);
}

double vmop_student_99(size_t freedom)
{
	static const double few[] = {63.657, 9.925, 5.841, 4.604, 4.032, 3.707, 3.499,
				     3.355,  3.250, 3.169, 3.106, 3.055, 3.012, 2.977,
				     2.947,  2.921, 2.898, 2.878, 2.861, 2.845};
	if (freedom == 0)
		return INFINITY;
	if (freedom <= sizeof(few) / sizeof(*few))
		return few[freedom - 1];
	/* Cornish and Fisher's expansion (Abramowitz and Stegun 26.7.5), three terms. */
	const double z = 2.575829;
	double n = (double)freedom, cube = z * z * z;
	return z + (cube + z) / (4 * n) + (5 * cube * z * z + 16 * cube + 3 * z) / (96 * n * n);
}

double vmop_spread_half_width(const struct vmop_spread *spread)
{
	if (spread->n < 2)
		return 0;
	double n = (double)spread->n;
	return vmop_student_99(spread->n - 1) * sqrt(spread->squares / (n - 1) / n);
}

double vmop_spread_percent(const struct vmop_spread *spread)
{
	return spread->mean != 0 ? 100 * vmop_spread_half_width(spread) / fabs(spread->mean) : 0;
}
