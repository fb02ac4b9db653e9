// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/compare/figure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Print a number of 0 or from 1e-4 to 1000 with about three significant digits. */
static void print_digits(double number, const char *sign, const char *suffix, char *ret,
			 size_t ret_bytes)
{
	double size = fabs(number);
	int digits = size >= 99.95		     ? 1
		     : size >= 0.0995 || number == 0 ? 2
		     : size >= 0.00995		     ? 3
						     : 5;
	snprintf(ret, ret_bytes, "%s%.*f%s", sign, digits, number, suffix);
}

void vmop_figure(double number, bool with_sign, char *ret, size_t ret_bytes)
{
	static const char *const suffixes[] = {"", "k", "M", "G", "T", "P", "E"};
	const char *sign = with_sign && number > 0 ? "+" : "";
	double size = fabs(number);
	size_t power = 0;
	if (isinf(number)) {
		snprintf(ret, ret_bytes, "%sinf", number < 0 ? "-" : sign);
		return;
	}
	if (size >= 1e21 || (size > 0 && size < 1e-4)) {
		snprintf(ret, ret_bytes, "%s%.2e", sign, number);
		return;
	}
	for (; size >= 999.5 && power + 1 < sizeof(suffixes) / sizeof(*suffixes); power++) {
		size /= 1000;
		number /= 1000;
	}
	print_digits(number, sign, suffixes[power], ret, ret_bytes);
}

void vmop_figure_percent(double percent, bool with_sign, char *ret, size_t ret_bytes)
{
	snprintf(ret, ret_bytes, with_sign ? "%+.2f" : "%.2f", percent);
}

static void format(double number, bool is_percent, bool with_sign, char *ret, size_t ret_bytes)
{
	if (is_percent)
		vmop_figure_percent(number, with_sign, ret, ret_bytes);
	else
		vmop_figure(number, with_sign, ret, ret_bytes);
}

void vmop_figure_interval(struct vmop_interval interval, bool is_percent, bool with_sign,
			  char ret[VMOP_FIGURE_BYTES])
{
	char value[28], low[28], high[28];
	format(interval.value, is_percent, with_sign, value, sizeof(value));
	format(interval.low, is_percent, with_sign, low, sizeof(low));
	format(interval.high, is_percent, with_sign, high, sizeof(high));
	if (!interval.is_known)
		snprintf(ret, VMOP_FIGURE_BYTES, "-");
	else if (isinf(interval.value))
		snprintf(ret, VMOP_FIGURE_BYTES, ">%s", low);
	else
		snprintf(ret, VMOP_FIGURE_BYTES, "%s %s..%s", value, low, high);
}
