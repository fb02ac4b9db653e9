// SPDX-License-Identifier: GPL-2.0-or-later
/* Format the numbers of a comparison for people. */
#ifndef VMOP_OPREPORT_COMPARE_FIGURE_H
#define VMOP_OPREPORT_COMPARE_FIGURE_H

#include <stdbool.h>
#include <stddef.h>

#include "opreport/compare/estimate.h"

enum { VMOP_FIGURE_BYTES = 96 };

/*
 * Format a number with three or more significant digits: "0.00123", "49.80", "1.23k", "4.56G".
 * with_sign adds '+' to positive ones.  Infinity is "inf".
 */
void vmop_figure(double number, bool with_sign, char *ret, size_t ret_bytes);

/* Format as "49.80", with two digits after the point. */
void vmop_figure_percent(double percent, bool with_sign, char *ret, size_t ret_bytes);

/*
 * Format an interval as "VALUE LOW..HIGH", "-" if it is unknown, or ">LOW" if the value is
 * infinite. is_percent selects the second form of numbers above; with_sign adds signs.
 */
void vmop_figure_interval(struct vmop_interval interval, bool is_percent, bool with_sign,
			  char ret[VMOP_FIGURE_BYTES]);

#endif
