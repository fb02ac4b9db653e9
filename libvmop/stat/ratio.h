// SPDX-License-Identifier: GPL-2.0-or-later
/* Ratios that are printed beside a count, as perf stat has them. */
#ifndef VMOP_LIBVMOP_STAT_RATIO_H
#define VMOP_LIBVMOP_STAT_RATIO_H

#include <stdbool.h>
#include <stddef.h>

struct vmop_ratio_input {
	const char *name; /* with modes */
	double value;
	bool is_time; /* in ns */
	bool is_counted;
};

/*
 * Compute the ratio of the i-th of n counts over elapsed_s: CPUs utilized, instructions per cycle,
 * misses in percent, else events per second of the task's or CPUs' time. Return false if there is
 * none. *ret_unit is static.
 */
bool vmop_ratio_of(const struct vmop_ratio_input *counts, size_t n, size_t i, double elapsed_s,
		   double *ret, const char **ret_unit);

/* Return the unit of that text as vmop_ratio_of() returns it, or NULL: it has no such unit. */
const char *vmop_ratio_unit(const char *text);

#endif
