// SPDX-License-Identifier: GPL-2.0-or-later
#include "opreport/output/time-text.h"

#include <inttypes.h>
#include <stdio.h>
#include <time.h>

#include "libutil/clock.h"

void vmop_format_time(uint64_t time_ns, char *ret, size_t ret_bytes)
{
	time_t seconds = (time_t)(time_ns / VMOP_NS_PER_S);
	struct tm tm;
	if (!localtime_r(&seconds, &tm) || !strftime(ret, ret_bytes, "%Y-%m-%d %H:%M:%S", &tm))
		ret[0] = '\0';
}

void vmop_format_span(uint64_t span_ns, char *ret, size_t ret_bytes)
{
	uint64_t seconds = span_ns / VMOP_NS_PER_S + (span_ns % VMOP_NS_PER_S >= VMOP_NS_PER_S / 2);
	if (seconds < 120)
		snprintf(ret, ret_bytes, "%" PRIu64 " s", seconds);
	else if (seconds < 7200)
		snprintf(ret, ret_bytes, "%" PRIu64 " min %" PRIu64 " s", seconds / 60,
			 seconds % 60);
	else
		snprintf(ret, ret_bytes, "%" PRIu64 " h %" PRIu64 " min", seconds / 3600,
			 seconds / 60 % 60);
}
