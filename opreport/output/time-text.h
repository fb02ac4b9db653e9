// SPDX-License-Identifier: GPL-2.0-or-later
/* Times and spans as people read them. */
#ifndef VMOP_OPREPORT_OUTPUT_TIME_TEXT_H
#define VMOP_OPREPORT_OUTPUT_TIME_TEXT_H

#include <stddef.h>
#include <stdint.h>

/* CLOCK_REALTIME as "2026-11-21 03:10:00", local time; "" for what is no time. */
void vmop_format_time(uint64_t time_ns, char *ret, size_t ret_bytes);

/* "60 s", "2 min 5 s", "3 h 20 min". */
void vmop_format_span(uint64_t span_ns, char *ret, size_t ret_bytes);

#endif
