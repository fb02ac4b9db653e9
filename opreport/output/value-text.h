// SPDX-License-Identifier: GPL-2.0-or-later
/* Numbers as people read them, in tables and on vmoptop's screen. */
#ifndef VMOP_OPREPORT_OUTPUT_VALUE_TEXT_H
#define VMOP_OPREPORT_OUTPUT_VALUE_TEXT_H

#include <stdbool.h>

#include "opreport/output/sheet.h"

#define VMOP_NUMBER_TEXT_BYTES 40

/* Return whether a column of the type is aligned at its right end. */
bool vmop_value_is_right(enum vmop_value_type type);

/*
 * Write a number, which is not empty and not of type TEXT, into ret.  percent_digits: digits of
 * percents behind the point.
 */
void vmop_value_format(enum vmop_value_type type, const struct vmop_value *value,
		       int percent_digits, char ret[VMOP_NUMBER_TEXT_BYTES]);

#endif
