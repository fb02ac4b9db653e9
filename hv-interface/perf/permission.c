// SPDX-License-Identifier: GPL-2.0-or-later
#include "hv-interface/perf/permission.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "hv-interface/perf/open.h"
#include "libutil/clock.h"

bool vmop_perf_is_permitted(void)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.config = PERF_COUNT_SW_DUMMY,
		.disabled = 1,
	};
	int fd = vmop_perf_open(&attr, 0, -1);
	if (fd >= 0)
		close(fd);
	return fd >= 0 || (errno != EACCES && errno != EPERM);
}

bool vmop_perf_gives_registers(uint64_t registers)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_period = VMOP_NS_PER_S,
		.sample_type = PERF_SAMPLE_REGS_INTR,
		.sample_regs_intr = registers,
		.disabled = 1,
	};
	int fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0)
		close(fd);
	return fd >= 0;
}
