// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Intervals of sampled numbers, and of the difference and the ratio of two of them.
 *
 * All intervals have 99 % confidence.  They cover the chance of sampling: samples are taken as
 * independent, so the number of samples decides the width, whatever events each sample stands for.
 * They do not cover what differs from one run of a program to the next.
 *
 * Sources:
 *   share     the score interval of a binomial proportion: Wilson, Probable inference, the law of
 *	       succession, and statistical inference, J. Amer. Statist. Assoc. 22, 1927
 *   count     the score interval of a Poisson mean, the limit of Wilson's for small shares
 *   quotient  of two Poisson counts: given their sum, the first is binomial (Przyborowski,
 *	       Wilenski: Homogeneity of results in testing samples from Poisson series, Biometrika
 *	       31, 1940); Wilson's interval as odds
 *   difference, ratio	by the method of variance estimates recovery from the two intervals:
 *	       Newcombe, Interval estimation for the difference between independent proportions,
 *	       Statistics in Medicine 17, 1998 (method 10); Zou and Donner, Construction of
 *	       confidence limits about effect measures, likewise 27, 2008; Donner and Zou,
 *	       Closed-form confidence intervals for functions of the normal mean and standard
 *	       deviation, Statistical Methods in Medical Research 21, 2012 (MOVER-R)
 *
 * The ratio's interval holds 1 exactly if the difference's holds 0: both solve the same equation.
 */
#ifndef VMOP_OPREPORT_COMPARE_ESTIMATE_H
#define VMOP_OPREPORT_COMPARE_ESTIMATE_H

#include <stdbool.h>

#define VMOP_CONFIDENCE_PERCENT 99

/*
 * 0 <= low <= value <= high, except in a difference, which can be negative.  In a ratio, value and
 * high can be infinite.  An unknown interval is 0 and has no meaning.
 */
struct vmop_interval {
	bool is_known;
	double value, low, high;
};

/* Estimate a share from `samples` of `all` samples.  Unknown if all is 0. */
struct vmop_interval vmop_interval_of_share(double samples, double all);

/*
 * Estimate it with an interval of another confidence: within z of a normal distribution, as
 * vmop_interval_z returns it for the chance, in (0, 1), that the interval misses the share.
 */
struct vmop_interval vmop_interval_of_share_within(double samples, double all, double z);
double vmop_interval_z(double chance);

/* Estimate the mean of a count. */
struct vmop_interval vmop_interval_of_count(double samples);

/* Estimate the quotient of the means of two counts.  Unknown if the second is 0. */
struct vmop_interval vmop_interval_of_quotient(double samples, double others);

/* Return the interval multiplied by a factor, which is not negative and is known exactly. */
struct vmop_interval vmop_interval_scale(struct vmop_interval of, double factor);

/* Estimate after - before.  Unknown if one of them is. */
struct vmop_interval vmop_interval_difference(struct vmop_interval before,
					      struct vmop_interval after);

/*
 * Estimate after / before.  Unknown if one of them is, or if both are 0.  If only `before` is 0,
 * the value is infinite.
 */
struct vmop_interval vmop_interval_ratio(struct vmop_interval before, struct vmop_interval after);

/* Return whether a number lies within the limits. */
bool vmop_interval_holds(struct vmop_interval interval, double number);

#endif
