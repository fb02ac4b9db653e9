// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf/open.h"

#include <errno.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

bool vmop_perf_raise_file_limit(void)
{
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur >= limit.rlim_max)
		return false;
	limit.rlim_cur = limit.rlim_max;
	return setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

int vmop_perf_open(struct perf_event_attr *attr, unsigned cpu, int group_fd)
{
	attr->size = sizeof(*attr);
	for (;;) {
		long fd = syscall(SYS_perf_event_open, attr, -1, (int)cpu, group_fd,
				  PERF_FLAG_FD_CLOEXEC);
		if (fd >= 0 || errno != EMFILE || !vmop_perf_raise_file_limit())
			return (int)fd;
	}
}
