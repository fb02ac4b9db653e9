// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/output/value-text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

bool vmop_value_is_right(enum vmop_value_type type)
{
	return type == VMOP_VALUE_COUNT || type == VMOP_VALUE_PERCENT || type == VMOP_VALUE_RATIO;
}

/* Write a number, and return its length.  A table has many, and printf takes ten times as long. */
static size_t format_count(uint64_t number, char ret[VMOP_NUMBER_TEXT_BYTES])
{
	char digits[VMOP_NUMBER_TEXT_BYTES];
	size_t at = sizeof(digits);
	do {
		digits[--at] = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	memcpy(ret, digits + at, sizeof(digits) - at);
	ret[sizeof(digits) - at] = '\0';
	return sizeof(digits) - at;
}

/*
 * Write a percent with two digits as printf does.  Return false if that takes exact arithmetic:
 * close to the middle of two such numbers.
 */
static bool format_hundredths(double percent, char ret[VMOP_NUMBER_TEXT_BYTES])
{
	double hundredths = percent * 100;
	if (signbit(percent) || !(percent < 1e6) ||
	    fabs(hundredths - floor(hundredths) - 0.5) < 1e-6)
		return false;
	uint64_t rounded = (uint64_t)(hundredths + 0.5);
	size_t len_bytes = format_count(rounded / 100, ret);
	const char fraction[] = {'.', (char)('0' + rounded / 10 % 10), (char)('0' + rounded % 10),
				 '\0'};
	memcpy(ret + len_bytes, fraction, sizeof(fraction));
	return true;
}

/* Write three significant digits, or all digits before the point. */
static void format_ratio(const struct vmop_value *value, char ret[VMOP_NUMBER_TEXT_BYTES])
{
	double ratio = value->ratio;
	const char mark[] = {value->mark, '\0'};
	if (value->mark == VMOP_MARK_UNKNOWN)
		snprintf(ret, VMOP_NUMBER_TEXT_BYTES, "-");
	else if (ratio > 0 && (ratio < 0.001 || ratio >= 1e9))
		snprintf(ret, VMOP_NUMBER_TEXT_BYTES, "%s%.2e", mark, ratio);
	else
		snprintf(ret, VMOP_NUMBER_TEXT_BYTES, "%s%.*f", mark,
			 ratio >= 100		  ? 0
			 : ratio >= 10		  ? 1
			 : ratio >= 0.1 || !ratio ? 2
						  : 4,
			 ratio);
}

void vmop_value_format(enum vmop_value_type type, const struct vmop_value *value,
		       int percent_digits, char ret[VMOP_NUMBER_TEXT_BYTES])
{
	switch (type) {
	case VMOP_VALUE_TEXT:
		ret[0] = '\0';
		break;
	case VMOP_VALUE_COUNT:
		format_count(value->number, ret);
		break;
	case VMOP_VALUE_PERCENT:
		if (percent_digits != 2 || !format_hundredths(value->percent, ret))
			snprintf(ret, VMOP_NUMBER_TEXT_BYTES, "%.*f", percent_digits,
				 value->percent);
		break;
	case VMOP_VALUE_ADDRESS:
		snprintf(ret, VMOP_NUMBER_TEXT_BYTES, "%08" PRIx64, value->number);
		break;
	case VMOP_VALUE_RATIO:
		format_ratio(value, ret);
		break;
	}
}
