// SPDX-License-Identifier: GPL-2.0-or-later
/* The mean of repeated runs and its 99 % interval, by Student's t. */
#ifndef VMOP_LIBVMOP_STAT_SPREAD_H
#define VMOP_LIBVMOP_STAT_SPREAD_H

#include <stddef.h>

struct vmop_spread {
	size_t n;
	double mean, squares; /* sum of squared differences from the mean (Welford) */
};

void vmop_spread_add(struct vmop_spread *spread, double value);

/* Return half the width of the 99 % interval of the mean; 0 for fewer than two values. */
double vmop_spread_half_width(const struct vmop_spread *spread);

/* Return the same as a percentage of the mean; 0 if the mean is 0. */
double vmop_spread_percent(const struct vmop_spread *spread);

/* Return the factor of Student's t for 99 %, two-sided, with that many degrees of freedom, 1 on. */
double vmop_student_99(size_t freedom);

#endif
