// SPDX-License-Identifier: GPL-2.0-or-later
/* Lengths of time as users write them in the set-up: 90s, 10m, 30d. */
#ifndef VMOP_LIBUTIL_SET_UP_SPAN_H
#define VMOP_LIBUTIL_SET_UP_SPAN_H

#include <stdint.h>

struct vmop_span_text {
	char text[32];
};

/* Write a time in the largest unit that divides it; in milliseconds if it is no whole second. */
void vmop_span_text(uint64_t ns, struct vmop_span_text *ret);

#endif
