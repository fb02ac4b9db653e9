// SPDX-License-Identifier: GPL-2.0-or-later
#include "libutil/host-time.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "libutil/clock.h"
#include "libutil/procfs.h"

#define CLOCKS_MAX 16 /* of a machine */
#define READS 5	      /* one of them is not interrupted */

int vmop_host_time_open(const char *root)
{
	char name[32], path[4096];
	for (unsigned i = 0; i < CLOCKS_MAX; i++) {
		if (vmop_procfs_read(root, name, sizeof(name), "/sys/class/ptp/ptp%u/clock_name",
				     i) < 0 ||
		    strcmp(name, "KVM virtual PTP\n") != 0)
			continue;
		snprintf(path, sizeof(path), "%s/dev/ptp%u", root, i);
		return open(path, O_RDONLY | O_CLOEXEC);
	}
	return -1;
}

/* Read CLOCK_REALTIME between two readings of CLOCK_MONOTONIC. */
static void read_once(struct vmop_tsc_pair *ret)
{
	uint64_t before_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	ret->tsc = vmop_clock_ns(CLOCK_REALTIME);
	ret->width_ticks = vmop_clock_ns(CLOCK_MONOTONIC) - before_ns;
	ret->time_ns = before_ns + ret->width_ticks / 2;
}

static void read_own(struct vmop_tsc_pair *ret)
{
	read_once(ret);
	for (unsigned i = 1; i < READS; i++) {
		struct vmop_tsc_pair pair;
		read_once(&pair);
		if (pair.width_ticks < ret->width_ticks)
			*ret = pair;
	}
}

/* Convert a time. 0: it is none. */
static uint64_t time_ns(const struct ptp_clock_time *time)
{
	if (time->sec < 0 || time->sec > INT32_MAX * INT64_C(2) || time->nsec >= VMOP_NS_PER_S)
		return 0;
	return (uint64_t)time->sec * VMOP_NS_PER_S + time->nsec;
}

bool vmop_host_time_pair(const struct ptp_sys_offset_precise *both, uint64_t before_ns,
			 uint64_t after_ns, const struct vmop_tsc_pair *own,
			 struct vmop_tsc_pair *ret)
{
	uint64_t host_ns = time_ns(&both->device), guest_ns = time_ns(&both->sys_realtime);
	uint64_t at_ns = guest_ns - (own->tsc - own->time_ns);
	if (!host_ns || !guest_ns || at_ns + own->width_ticks < before_ns ||
	    at_ns > after_ns + own->width_ticks)
		return false;
	*ret = (struct vmop_tsc_pair){
		.tsc = host_ns, .time_ns = at_ns, .width_ticks = own->width_ticks};
	return true;
}

bool vmop_host_time_read(int fd, struct vmop_tsc_pair *ret)
{
	struct ptp_sys_offset_precise both = {0};
	struct vmop_tsc_pair own;
	uint64_t before_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	if (fd < 0 || ioctl(fd, PTP_SYS_OFFSET_PRECISE, &both) < 0)
		return false;
	uint64_t after_ns = vmop_clock_ns(CLOCK_MONOTONIC);
	read_own(&own);
	return vmop_host_time_pair(&both, before_ns, after_ns, &own, ret);
}

bool vmop_host_time_here(struct vmop_tsc_pair *ret)
{
	read_own(ret);
#if defined(__x86_64__)
	return false;
#else
	return true;
#endif
}
