// SPDX-License-Identifier: GPL-2.0-or-later
#include "daemon/rotation.h"

#include <time.h>

#include "libdb/session-files.h"
#include "libutil/clock.h"
#include "libutil/log.h"

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

struct vmop_error *vmop_rotation_expire(const struct vmop_setup *setup, uint64_t now_ns)
{
	unsigned n = 0;
	if (!setup->keep_ns && !setup->max_bytes)
		return NULL;
	uint64_t before_ns =
		setup->keep_ns && now_ns > setup->keep_ns ? now_ns - setup->keep_ns : 0;
	struct vmop_error *err =
		vmop_session_expire(setup->session_dir, before_ns,
				    setup->max_bytes ? setup->max_bytes : UINT64_MAX, &n);
	if (n)
		vmop_log_notice("%s: removed %u old session%s (%s)", setup->session_dir, n,
				n == 1 ? "" : "s", setup->keep_ns ? "keep, max-size" : "max-size");
	return err;
}
