// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/rotation.h"

#include <time.h>

#include "libutil/clock.h"

/* Return a number that grows with the local date. */
static int date_of(uint64_t time_ns)
{
	time_t seconds = (time_t)(time_ns / VMOP_NS_PER_S);
	struct tm tm;
	localtime_r(&seconds, &tm);
	return tm.tm_year * 366 + tm.tm_yday;
}

bool vmop_rotation_is_due(const struct vmop_setup_rotate *rotate, uint64_t start_ns,
			  uint64_t now_ns, uint64_t disk_bytes)
{
	return (rotate->is_daily && date_of(now_ns) > date_of(start_ns)) ||
	       (rotate->bytes && disk_bytes >= rotate->bytes);
}

uint64_t vmop_rotation_expires_before_ns(const struct vmop_setup *setup, uint64_t now_ns)
{
	return setup->keep_ns && now_ns > setup->keep_ns ? now_ns - setup->keep_ns : 0;
}
