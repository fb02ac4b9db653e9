// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf-permission.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

bool vmop_perf_is_permitted(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
	};
	long fd = syscall(SYS_perf_event_open, &attr, -1, 0, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0)
		close((int)fd);
	return fd >= 0 || (errno != EACCES && errno != EPERM);
}
