// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * vmopstat --hypervisor: the hypervisor of this machine and its offers. Data meets the files in
 * this order: cpuid.h, detect.h (which hypervisor), then machine.h, pmu.h, steal.h, vmware.h and
 * runstate.h, which add their facts to a report.h, or their times to the readings of
 * vmopstat's intervals.
 */
#ifndef VMOP_LIBVMOP_STAT_HYPERVISOR_HYPERVISOR_H
#define VMOP_LIBVMOP_STAT_HYPERVISOR_HYPERVISOR_H

#include "libvmop/stat/output.h"
#include "libvmop/stat/settings.h"

/*
 * Print the description; or with a command or an interval, count the times that the hypervisor
 * reports: steal, runstates, VMware's clocks. *ret_status: the command's.
 */
struct vmop_error *vmop_hv_run(const struct vmop_stat_settings *settings,
			       struct vmop_stat_writer *writer, int *ret_status);

#endif
