// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/output/value-text.h"

#include <inttypes.h>
#include <stdio.h>

bool vmop_value_is_right(enum vmop_value_type type)
{
	return type == VMOP_VALUE_COUNT || type == VMOP_VALUE_PERCENT || type == VMOP_VALUE_RATIO;
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
		snprintf(ret, VMOP_NUMBER_TEXT_BYTES, "%" PRIu64, value->number);
		break;
	case VMOP_VALUE_PERCENT:
		snprintf(ret, VMOP_NUMBER_TEXT_BYTES, "%.*f", percent_digits, value->percent);
		break;
	case VMOP_VALUE_ADDRESS:
		snprintf(ret, VMOP_NUMBER_TEXT_BYTES, "%08" PRIx64, value->number);
		break;
	case VMOP_VALUE_RATIO:
		format_ratio(value, ret);
		break;
	}
}
