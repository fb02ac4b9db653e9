// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The host's CLOCK_REALTIME beside CLOCK_MONOTONIC of its KVM guest, in place of a time-stamp
 * counter: KVM of arm64 shows no offset of the guest's counter, but its PTP clock (ptp_kvm) reads
 * the clocks of both machines at one value of the counter. Pairs are those of tsc.h; a tick is 1
 * ns.
 */
#ifndef VMOP_LIBUTIL_HOST_TIME_H
#define VMOP_LIBUTIL_HOST_TIME_H

#include <linux/ptp_clock.h>
#include <stdbool.h>
#include <stdint.h>

#include "libutil/tsc.h"

/*
 * Open KVM's PTP clock. root: of /sys and /dev, "" except in tests. -1: without one, or without the
 * right to it.
 */
int vmop_host_time_open(const char *root);

/* Read a pair in the guest. fd: -1 is allowed. Return false, and leave *ret unchanged, without one.
 */
bool vmop_host_time_read(int fd, struct vmop_tsc_pair *ret);

/*
 * Make that pair of what the kernel read between two times of CLOCK_MONOTONIC, and of the guest's
 * CLOCK_REALTIME beside its CLOCK_MONOTONIC. Return false if a clock was set meanwhile.
 */
bool vmop_host_time_pair(const struct ptp_sys_offset_precise *both, uint64_t before_ns,
			 uint64_t after_ns, const struct vmop_tsc_pair *own,
			 struct vmop_tsc_pair *ret);

/*
 * Read this machine's CLOCK_REALTIME and CLOCK_MONOTONIC, the narrowest of a few, for its guests.
 * Return false on x86-64, where guests have a time-stamp counter.
 */
bool vmop_host_time_here(struct vmop_tsc_pair *ret);

#endif
