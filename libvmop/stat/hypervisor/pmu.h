// SPDX-License-Identifier: GPL-2.0-or-later
/* The performance counters of this machine: those that it announces, and those that count. */
#ifndef VMOP_LIBVMOP_STAT_HYPERVISOR_PMU_H
#define VMOP_LIBVMOP_STAT_HYPERVISOR_PMU_H

#include "libvmop/stat/hypervisor/detect.h"

/* Report the group "pmu". Opens each of the usual hardware events for a loop of some ms. */
void vmop_hv_describe_pmu(const struct vmop_hv *hv, struct vmop_hv_report *report);

#endif
