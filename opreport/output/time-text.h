// SPDX-License-Identifier: GPL-2.0-or-later
/* Format times and spans for people. */
#ifndef VMOP_OPREPORT_OUTPUT_TIME_TEXT_H
#define VMOP_OPREPORT_OUTPUT_TIME_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* Format CLOCK_REALTIME as "2026-11-21 03:10:00" in local time; "" if it is out of range. */
void vmop_format_time(uint64_t time_ns, char *ret, size_t ret_bytes);

/* Format a span as "60 s", "2 min 5 s" or "3 h 20 min", rounded to seconds. */
void vmop_format_span(uint64_t span_ns, char *ret, size_t ret_bytes);

#endif
